// SPDX-License-Identifier: Apache-2.0
/* The day in small, within make check. */
#include "base/note.h"
#include "lib/runner.h"
#include "sim/day.h"

START_TEST(after_a_day_each_message_has_met_its_fate_and_the_disk_is_free_again)
{
    struct day_result r;
    struct day_options o = {
        .seed = test_seed(),
        .messages = 20000,
        .topics = DAY_KINDS,
        .hours = 11,
        .tick_ms = 10000,
        .segment_bytes = 16 << 10,
    };
    note_init(NOTE_ERROR, false);
    day_run(&o, &r);
    ck_assert_uint_eq(r.sent, r.deleted + r.purged + r.expired);
    ck_assert_uint_gt(r.sent, 19000);
    ck_assert_uint_gt(r.purged, 0);
    ck_assert_uint_gt(r.expired, 1000);
    ck_assert_uint_gt(r.redriven, 0);
    ck_assert_uint_gt(r.dead, 0);
    ck_assert_uint_gt(r.restarts, 5);
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("day");
    TCase *t = tcase_create("day");
    tcase_set_timeout(t, 0);
    tcase_add_test(t, after_a_day_each_message_has_met_its_fate_and_the_disk_is_free_again);
    suite_add_tcase(s, t);
    return s;
}
