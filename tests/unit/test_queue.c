// SPDX-License-Identifier: Apache-2.0
/* The room queue without threads; one file an idea. */
#include "queue_fixture.h"

Suite *suite_new(void)
{
    Suite *s = suite_create("queue");
    suite_add_tcase(s, tcase_verbs());
    suite_add_tcase(s, tcase_spread());
    suite_add_tcase(s, tcase_topics());
    suite_add_tcase(s, tcase_restart());
    suite_add_tcase(s, tcase_polls());
    suite_add_tcase(s, tcase_moves());
    suite_add_tcase(s, tcase_redrive());
    suite_add_tcase(s, tcase_fifo());
    suite_add_tcase(s, tcase_window());
    suite_add_tcase(s, tcase_keep());
    suite_add_tcase(s, tcase_send());
    suite_add_tcase(s, tcase_look());
    suite_add_tcase(s, tcase_history());
    suite_add_tcase(s, tcase_clean());
    suite_add_tcase(s, tcase_limit());
    return s;
}
