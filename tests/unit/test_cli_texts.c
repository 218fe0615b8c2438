// SPDX-License-Identifier: Apache-2.0
/* Texts that the command line makes for others to read: environments, URLs, tables, completions
 * and the manual page. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/args.h"
#include "cli/completion.h"
#include "cli/job_env.h"
#include "cli/man.h"
#include "cli/text.h"
#include "lib/runner.h"

/* ---- environments ---- */

static struct cli_job_env env;

/* The value of a variable, or NULL; fails when there are two. */
static const char *variable(const char *name)
{
    const char *found = NULL;
    size_t n = strlen(name);
    for (size_t i = 0; i < env.n; i++)
        if (strncmp(env.at[i], name, n) == 0 && env.at[i][n] == '=') {
            ck_assert_ptr_null(found);
            found = env.at[i] + n + 1;
        }
    return found;
}

static void env_of(char *const *inherited, const char *server, const char *message)
{
    json_t *json = json_loads(message, JSON_ALLOW_NUL, NULL);
    ck_assert_ptr_nonnull(json);
    cli_job_env_init(&env, inherited, "jobs", server, json);
    ck_assert_ptr_null(env.at[env.n]);
    json_decref(json);
}

START_TEST(a_message_is_told_to_its_command_by_the_environment)
{
    char path[] = "PATH=/bin", url[] = "LEASELOG_URL=http://a";
    char *inherited[] = {path, url, NULL};
    env_of(inherited, NULL,
           "{\"MessageId\":\"id-1\",\"ReceiptHandle\":\"r-1\",\"Attributes\":{"
           "\"ApproximateReceiveCount\":\"3\",\"SentTimestamp\":\"1700000000007\","
           "\"MessageGroupId\":\"g\"},\"MessageAttributes\":{"
           "\"shop\":{\"DataType\":\"String\",\"StringValue\":\"north = south\"},"
           "\"picture\":{\"DataType\":\"Binary\",\"BinaryValue\":\"AAE=\"}}}");
    ck_assert_str_eq(variable("PATH"), "/bin");
    ck_assert_str_eq(variable("LEASELOG_URL"), "http://a");
    ck_assert_str_eq(variable("LEASELOG_TOPIC"), "jobs");
    ck_assert_str_eq(variable("LEASELOG_ID"), "id-1");
    ck_assert_str_eq(variable("LEASELOG_RECEIPT"), "r-1");
    ck_assert_str_eq(variable("LEASELOG_RECEIVE_COUNT"), "3");
    ck_assert_str_eq(variable("LEASELOG_SENT_AT"), "2023-11-14T22:13:20.007Z");
    ck_assert_str_eq(variable("LEASELOG_GROUP_ID"), "g");
    ck_assert_ptr_null(variable("LEASELOG_DEDUP_ID"));
    ck_assert_str_eq(variable("LEASELOG_ATTR_shop"), "north = south");
    ck_assert_str_eq(variable("LEASELOG_ATTR_picture"), "AAE=");
    ck_assert_ptr_null(variable("LEASELOG_ATTRS_OMITTED"));
    cli_job_env_fini(&env);
}
END_TEST

START_TEST(an_attribute_name_becomes_a_name_that_a_shell_can_read)
{
    char *inherited[] = {NULL};
    env_of(inherited, NULL,
           "{\"MessageAttributes\":{\"a.b-c\":{\"StringValue\":\"1\"},"
           "\"\xc3\xa4=9\":{\"StringValue\":\"2\"},\"Z_9\":{\"StringValue\":\"3\"},"
           "\"a_b_c\":{\"StringValue\":\"4\"},\"nul\":{\"StringValue\":\"5\\u00006\"}}}");
    ck_assert_str_eq(variable("LEASELOG_ATTR_a_b_c"), "1"); /* the first of two */
    ck_assert_str_eq(variable("LEASELOG_ATTR____9"), "2");
    ck_assert_str_eq(variable("LEASELOG_ATTR_Z_9"), "3");
    ck_assert_ptr_null(variable("LEASELOG_ATTR_nul"));
    ck_assert_str_eq(variable("LEASELOG_ATTRS_OMITTED"), "2");
    cli_job_env_fini(&env);
}
END_TEST

START_TEST(what_an_outer_worker_said_is_not_passed_on)
{
    char lines[][32] = {"LEASELOG_ID=old", "LEASELOG_ATTR_x=old", "LEASELOG_GROUP_ID=old",
                        "LEASELOG_URL=http://old", "LEASELOG_IDLE=kept"};
    char *inherited[] = {lines[0], lines[1], lines[2], lines[3], lines[4], NULL};
    env_of(inherited, "http://new", "{\"MessageId\":\"new\"}");
    ck_assert_str_eq(variable("LEASELOG_ID"), "new");
    ck_assert_ptr_null(variable("LEASELOG_ATTR_x"));
    ck_assert_ptr_null(variable("LEASELOG_GROUP_ID"));
    ck_assert_str_eq(variable("LEASELOG_URL"), "http://new");
    ck_assert_str_eq(variable("LEASELOG_IDLE"), "kept");
    cli_job_env_fini(&env);
}
END_TEST

START_TEST(an_attribute_too_long_for_exec_is_left_out_and_counted)
{
    enum { LONG = 131072 };
    char *inherited[] = {NULL};
    char *value = malloc(LONG + 1);
    memset(value, 'x', LONG);
    value[LONG] = '\0';
    json_t *message = json_pack("{s:{s:{s:s}, s:{s:s}}}", "MessageAttributes", "big", "StringValue",
                                value, "small", "StringValue", "s");
    cli_job_env_init(&env, inherited, "jobs", NULL, message);
    ck_assert_ptr_null(variable("LEASELOG_ATTR_big"));
    ck_assert_str_eq(variable("LEASELOG_ATTR_small"), "s");
    ck_assert_str_eq(variable("LEASELOG_ATTRS_OMITTED"), "1");
    cli_job_env_fini(&env);
    json_decref(message);
    free(value);
}
END_TEST

/* ---- texts for others to read ---- */

START_TEST(a_url_keeps_only_what_needs_no_percent)
{
    struct buf out = BUF_EMPTY;
    cli_url_quote(&out, BYTES_OF("aZ09-_.~ /?&=%\xc3\xa4\0"));
    ck_assert(bytes_equal(buf_bytes(&out), BYTES_OF("aZ09-_.~%20%2F%3F%26%3D%25%C3%A4%00")));
    buf_fini(&out);
}
END_TEST

START_TEST(no_message_can_command_the_terminal)
{
    static const struct {
        const char *text;
        size_t most;
        const char *shown;
        size_t wide;
    } rows[] = {
        {"plain", 80, "plain", 5},
        {"a\nb\tc\rd\\e", 80, "a\\nb\\tc\\rd\\\\e", 13},
        {"\x1b[2J\x7f", 80, "\\x1b[2J\\x7f", 11},
        {"\xc2\x9b"
         "2J",
         80, "\\x9b2J", 6},
        {"\xff\xc3", 80, "\\xff\\xc3", 8},
        {"gr\xc3\xbc\xc3\x9f"
         "e",
         80,
         "gr\xc3\xbc\xc3\x9f"
         "e",
         5},
        {"abcdef", 6, "abcdef", 6},
        {"abcdefg", 6, "abcde\xe2\x80\xa6", 6},
        {"abcd\x01", 6, "abcd\xe2\x80\xa6", 5},
        {"", 6, "", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct buf out = BUF_EMPTY;
        size_t wide = cli_line_quote(&out, bytes_of_text(rows[i].text), rows[i].most);
        ck_assert_msg(bytes_equal(buf_bytes(&out), bytes_of_text(rows[i].shown)), "row %zu: %.*s",
                      i, (int)out.n, out.at);
        ck_assert_uint_eq(wide, rows[i].wide);
        buf_fini(&out);
    }
}
END_TEST

static char *printed;
static size_t printed_n;

static const char *printed_by(void (*print)(FILE *to, const char *word), const char *word)
{
    free(printed);
    FILE *to = open_memstream(&printed, &printed_n);
    print(to, word);
    fclose(to);
    return printed;
}

static void completion_print(FILE *to, const char *shell)
{
    ck_assert(cli_completion_print(to, shell));
}

START_TEST(each_shell_is_told_every_command_and_option)
{
    static const struct {
        const char *shell, *before, *after; /* an option's word */
    } rows[] = {{"bash", "--", ""}, {"zsh", "--", ":"}, {"fish", "-l ", " "}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *text = printed_by(completion_print, rows[i].shell);
        char option[64];
        for (int c = 0; c < CLI_COMMANDS_N; c++)
            ck_assert_ptr_nonnull(strstr(text, cli_commands[c].word));
        for (size_t k = 0; k < cli_options_n; k++) {
            snprintf(option, sizeof option, "%s%s%s", rows[i].before, cli_options[k].word,
                     rows[i].after);
            ck_assert_msg(strstr(text, option) != NULL, "%s: %s", rows[i].shell, option);
        }
        snprintf(option, sizeof option, "%sdata-dir%s", rows[i].before, rows[i].after);
        ck_assert_ptr_nonnull(strstr(text, option));
    }
    ck_assert(!cli_completion_print(stdout, "tcsh"));
    free(printed);
    printed = NULL;
}
END_TEST

static void man_print(FILE *to, const char *unused)
{
    (void)unused;
    cli_man_print(to);
}

START_TEST(the_manual_page_names_all_that_the_tables_have)
{
    const char *page = printed_by(man_print, NULL);
    char tag[128];
    for (int c = 0; c < CLI_COMMANDS_N; c++) {
        snprintf(tag, sizeof tag, ".SS \"leaselog %s ", cli_commands[c].word);
        ck_assert_msg(strstr(page, tag) != NULL, "%s", tag);
    }
    for (size_t i = 0; i < cli_options_n; i++) {
        size_t n = 0;
        const char *word = cli_options[i].word;
        for (n = 0; *word != '\0'; word++) { /* a dash is \- */
            if (*word == '-')
                tag[n++] = '\\';
            tag[n++] = *word;
        }
        snprintf(tag + n, sizeof tag - n, "\\fR");
        ck_assert_msg(strstr(page, tag) != NULL, "%s", tag);
    }
    for (int i = 0; i < CLI_EXITS_N; i++) {
        snprintf(tag, sizeof tag, "\\fB%d\\fR\n", (int)cli_exits[i].status);
        ck_assert_ptr_nonnull(strstr(page, tag));
    }
    ck_assert_ptr_nonnull(strstr(page, "data\\-dir"));
    free(printed);
    printed = NULL;
}
END_TEST

START_TEST(no_line_of_a_text_is_taken_for_a_request_to_roff)
{
    static const char *const requests[] = {".\\\"", ".TH", ".SH", ".SS", ".TP",
                                           ".PP",   ".nf", ".fi", ".B ", ".br"};
    const char *line = printed_by(man_print, NULL);
    while (*line != '\0') {
        bool known = *line != '.' && *line != '\'';
        for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++)
            known = known || strncmp(line, requests[i], 3) == 0;
        known = known || strncmp(line, ".BR ", 4) == 0;
        ck_assert_msg(known, "%.40s", line);
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    free(printed);
    printed = NULL;
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("cli_texts");
    TCase *tc = tcase_create("cli_texts");
    tcase_add_test(tc, a_message_is_told_to_its_command_by_the_environment);
    tcase_add_test(tc, an_attribute_name_becomes_a_name_that_a_shell_can_read);
    tcase_add_test(tc, what_an_outer_worker_said_is_not_passed_on);
    tcase_add_test(tc, an_attribute_too_long_for_exec_is_left_out_and_counted);
    tcase_add_test(tc, a_url_keeps_only_what_needs_no_percent);
    tcase_add_test(tc, no_message_can_command_the_terminal);
    tcase_add_test(tc, each_shell_is_told_every_command_and_option);
    tcase_add_test(tc, the_manual_page_names_all_that_the_tables_have);
    tcase_add_test(tc, no_line_of_a_text_is_taken_for_a_request_to_roff);
    suite_add_tcase(s, tc);
    return s;
}
