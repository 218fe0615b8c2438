// SPDX-License-Identifier: Apache-2.0
/* The command line's pure parts: times, near misses, options, exit statuses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/answer.h"
#include "cli/args.h"
#include "cli/help.h"
#include "cli/text.h"
#include "lib/runner.h"

/* ---- times and pairs ---- */

START_TEST(a_time_is_whole_seconds_or_has_a_unit)
{
    static const struct {
        const char *text;
        int64_t seconds; /* -1: refused */
    } rows[] = {
        {"0", 0},
        {"30", 30},
        {"30s", 30},
        {"5m", 300},
        {"2h", 7200},
        {"1d", 86400},
        {"0m", 0},
        {"1576800000", 1576800000},
        {"", -1},
        {"s", -1},
        {"-1", -1},
        {"+1", -1},
        {"1.5h", -1},
        {" 1", -1},
        {"1 ", -1},
        {"1ms", -1},
        {"1w", -1},
        {"1hh", -1},
        {"1h30m", -1},
        {"0x10", -1},
        {"18251d", -1},
        {"18250d", 1576800000},
        {"1576800001", -1},
        {"99999999999999999999", -1},
        {"999999999999999h", -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t seconds = -1;
        bool ok = cli_seconds_read(rows[i].text, &seconds);
        ck_assert_msg(ok == (rows[i].seconds >= 0) && seconds == rows[i].seconds, "'%s': %lld",
                      rows[i].text, (long long)seconds);
    }
}
END_TEST

START_TEST(seconds_with_a_fraction_are_kept_as_milliseconds)
{
    static const struct {
        const char *text;
        int64_t ms; /* -1: refused */
    } rows[] = {
        {"0.1", 100},    {"0.05", -1},   {"1", 1000},   {"1.5", 1500},      {"1.25", 1250},
        {"1.125", 1125}, {"1.1255", -1}, {"60", 60000}, {"60.001", -1},     {"1.", -1},
        {".5", -1},      {"", -1},       {"-1", -1},    {"1s", -1},         {"1.5s", -1},
        {"1.5.5", -1},   {"1,5", -1},    {" 1", -1},    {"9999999999", -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t ms = -1;
        bool ok = cli_millis_read(rows[i].text, 100, 60000, &ms);
        ck_assert_msg(ok == (rows[i].ms >= 0) && ms == rows[i].ms, "'%s': %lld", rows[i].text,
                      (long long)ms);
    }
}
END_TEST

START_TEST(a_number_keeps_to_its_bounds)
{
    int64_t v = -1;
    ck_assert(cli_number_read("10", 1, 10, &v));
    ck_assert_int_eq(v, 10);
    ck_assert(!cli_number_read("11", 1, 10, &v));
    ck_assert(!cli_number_read("0", 1, 10, &v));
    ck_assert(!cli_number_read("1x", 1, 10, &v));
    ck_assert(!cli_number_read("", 0, 10, &v));
    ck_assert(!cli_number_read("18446744073709551617", 1, 10, &v));
    ck_assert_int_eq(v, 10);
}
END_TEST

START_TEST(a_pair_is_split_at_its_first_equals_sign)
{
    struct cli_pair pair;
    ck_assert(cli_pair_read("shop=north=south", &pair));
    ck_assert(bytes_equal(pair.name, BYTES_OF("shop")));
    ck_assert_uint_eq(pair.type.n, 0);
    ck_assert_str_eq(pair.value, "north=south");
    ck_assert(cli_pair_read("cups:Number.int=2:3", &pair));
    ck_assert(bytes_equal(pair.name, BYTES_OF("cups")));
    ck_assert(bytes_equal(pair.type, BYTES_OF("Number.int")));
    ck_assert_str_eq(pair.value, "2:3");
    ck_assert(cli_pair_read("a=b:c", &pair));
    ck_assert_uint_eq(pair.type.n, 0);
    ck_assert(cli_pair_read("a=", &pair));
    ck_assert_str_eq(pair.value, "");
    ck_assert(!cli_pair_read("shop", &pair));
    ck_assert(!cli_pair_read("=north", &pair));
    ck_assert(!cli_pair_read(":Number=1", &pair));
    ck_assert(!cli_pair_read("a:=1", &pair));
}
END_TEST

/* ---- near misses ---- */

START_TEST(the_distance_of_words_counts_single_slips)
{
    static const struct {
        const char *a, *b;
        int distance;
    } rows[] = {{"", "", 0},           {"send", "send", 0},      {"sned", "send", 1},
                {"sen", "send", 1},    {"sendd", "send", 1},     {"sand", "send", 1},
                {"", "abc", 3},        {"kitten", "sitting", 3}, {"ab", "ba", 1},
                {"topics", "send", 6}, {"ca", "abc", 3}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ck_assert_int_eq(cli_word_distance(rows[i].a, rows[i].b), rows[i].distance);
        ck_assert_int_eq(cli_word_distance(rows[i].b, rows[i].a), rows[i].distance);
    }
    char edge[42] = "0123456789012345678901234567890123456789";
    ck_assert_int_eq(cli_word_distance(edge, ""), 40);
    edge[40] = 'x';
    ck_assert_int_eq(cli_word_distance(edge, ""), 99);
}
END_TEST

START_TEST(only_what_may_be_meant_is_suggested)
{
    static const char *const words[] = {"send", "receive", "delete", "topics", "health", "serve"};
    static const struct {
        const char *word, *near;
    } rows[] = {
        {"sned", "send"},    {"recieve", "receive"}, {"recv", NULL},       {"rec", "receive"},
        {"topic", "topics"}, {"list", NULL},         {"healht", "health"}, {"x", NULL},
        {"", NULL},          {"deleet", "delete"},   {"se", "send"},       {"purge", NULL},
        {"server", "serve"}, {"frobnicate", NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *near = cli_word_nearest(rows[i].word, words, 6);
        ck_assert_msg(near == rows[i].near ||
                          (near && rows[i].near && strcmp(near, rows[i].near) == 0),
                      "'%s': %s", rows[i].word, near ? near : "nothing");
    }
}
END_TEST

START_TEST(a_shell_reads_a_quoted_text_as_it_was)
{
    struct buf out = BUF_EMPTY;
    cli_shell_quote(&out, BYTES_OF("it's $HOME \\ \"x\""));
    ck_assert(bytes_equal(buf_bytes(&out), BYTES_OF("'it'\\''s $HOME \\ \"x\"'")));
    buf_fini(&out);
}
END_TEST

/* ---- the command line ---- */

static char *words_at[16];
static char text[512];
static struct cli_args args;
static struct buf problem;

/* Parses "leaselog" and the words of line, which blanks part. */
static enum cli_exit parse(const char *line)
{
    int n = 0;
    char *rest = text;
    cli_args_fini(&args);
    buf_fini(&problem);
    problem = BUF_EMPTY;
    snprintf(text, sizeof text, "leaselog %s", line);
    for (char *word; (word = strsep(&rest, " ")) != NULL;)
        words_at[n++] = word;
    words_at[n] = NULL;
    enum cli_exit e = cli_args_parse(n, words_at, &args, &problem);
    buf_put_u8(&problem, 0);
    return e;
}

static void parse_fini(void)
{
    cli_args_fini(&args);
    buf_fini(&problem);
}

START_TEST(without_options_the_defaults_hold)
{
    ck_assert_int_eq(parse("send orders hello"), CLI_OK);
    ck_assert_int_eq(args.command, CLI_SEND);
    ck_assert_int_eq(args.words_n, 2);
    ck_assert_str_eq(args.words[0], "orders");
    ck_assert_str_eq(args.words[1], "hello");
    ck_assert_ptr_null(args.server);
    ck_assert_int_eq(args.timeout_s, 30);
    ck_assert_int_eq(args.delay_s, -1);
    ck_assert_int_eq(args.wait_s, -1);
    ck_assert_int_eq(args.visibility_s, -1);
    ck_assert_int_eq(args.retry_delay_s, -1);
    ck_assert_int_eq(args.number, 0);
    ck_assert_int_eq(args.max, 0);
    ck_assert_int_eq(args.jobs, 1);
    ck_assert(!args.dashes);
    ck_assert(!args.json && !args.quiet && !args.verbose && !args.lines && !args.remove);
}
END_TEST

START_TEST(options_may_stand_anywhere)
{
    ck_assert_int_eq(parse("--server http://b:1 --json receive -n 10 orders --wait 20s -x "
                           "--visibility=5m -qv -t 2m"),
                     CLI_OK);
    ck_assert_int_eq(args.command, CLI_RECEIVE);
    ck_assert_int_eq(args.words_n, 1);
    ck_assert_str_eq(args.words[0], "orders");
    ck_assert_str_eq(args.server, "http://b:1");
    ck_assert(args.json && args.remove && args.quiet && args.verbose);
    ck_assert_int_eq(args.number, 10);
    ck_assert_int_eq(args.wait_s, 20);
    ck_assert_int_eq(args.visibility_s, 300);
    ck_assert_int_eq(args.timeout_s, 120);
}
END_TEST

START_TEST(repeated_options_are_kept_in_order)
{
    ck_assert_int_eq(parse("send t -a a=1 -a b:Number=2 --delay 2m -g G --dedup-id D b"), CLI_OK);
    ck_assert_uint_eq(args.attributes.n, 2);
    ck_assert_str_eq(args.attributes.at[0], "a=1");
    ck_assert_str_eq(args.attributes.at[1], "b:Number=2");
    ck_assert_int_eq(args.delay_s, 120);
    ck_assert_str_eq(args.group_id, "G");
    ck_assert_str_eq(args.dedup_id, "D");
    ck_assert_int_eq(parse("topics create t -o A=1 -o B=2"), CLI_OK);
    ck_assert_uint_eq(args.settings.n, 2);
    ck_assert_str_eq(args.settings.at[1], "B=2");
}
END_TEST

START_TEST(a_double_dash_ends_the_options)
{
    ck_assert_int_eq(parse("send orders -- --json"), CLI_OK);
    ck_assert_int_eq(args.words_n, 2);
    ck_assert_str_eq(args.words[1], "--json");
    ck_assert(!args.json);
    ck_assert_int_eq(parse("send orders -"), CLI_OK);
    ck_assert_str_eq(args.words[1], "-");
}
END_TEST

START_TEST(help_and_version_win_over_the_command)
{
    ck_assert_int_eq(parse("send --help"), CLI_OK);
    ck_assert_int_eq(args.command, CLI_HELP);
    ck_assert_str_eq(args.words[0], "send");
    ck_assert_int_eq(parse("help send"), CLI_OK);
    ck_assert_int_eq(args.command, CLI_HELP);
    ck_assert_str_eq(args.words[0], "send");
    ck_assert_int_eq(parse("-h"), CLI_OK);
    ck_assert_int_eq(args.command, CLI_HELP);
    ck_assert_int_eq(args.words_n, 0);
    ck_assert_int_eq(parse("--version"), CLI_OK);
    ck_assert_int_eq(args.command, CLI_VERSION);
}
END_TEST

static const struct {
    const char *line, *problem;
} wrong_lines[] = {
    {"--json", "which command?"},
    {"sned orders", "there is no command 'sned'; did you mean 'send'?"},
    {"serv", "there is no command 'serv'; did you mean 'serve'?"},
    {"frobnicate", "there is no command 'frobnicate'"},
    {"send --dealy=3 t", "there is no option --dealy; did you mean --delay?"},
    {"send --frobnicate t", "there is no option --frobnicate"},
    {"send t -Z", "there is no option -Z"},
    {"send t --delay", "--delay needs an argument: TIME"},
    {"send t -d", "--delay needs an argument: TIME"},
    {"send t --json=yes", "--json takes no argument"},
    {"send t --wait 5s", "send does not take --wait"},
    {"receive t --lines", "receive does not take --lines"},
    {"health --delete", "health does not take --delete"},
    {"send t --delay soon", "--delay: 'soon' is not TIME, such as 30s, 5m or 2h"},
    {"send t --timeout 0", "--timeout: '0' is not TIME, such as 30s, 5m or 2h"},
    {"receive t -n 0", "--number: '0' is not N, a number from 1 to 100000"},
    {"receive t -n ten", "--number: 'ten' is not N, a number from 1 to 100000"},
    {"work t -j 257 -- x", "--jobs: '257' is not N, a number from 1 to 256"},
    {"purge t --delete", "purge does not take --delete"},
    {"pruge t", "there is no command 'pruge'; did you mean 'purge'?"},
    {"send t -a novalue", "--attribute: 'novalue' is not NAME[:TYPE]=VALUE"},
    {"topics create t -o A:B=1", "--option: 'A:B=1' is not NAME=VALUE"},
};

START_TEST(a_wrong_line_is_answered_with_what_is_wrong)
{
    ck_assert_int_eq(parse(wrong_lines[_i].line), CLI_USAGE);
    ck_assert_str_eq(problem.at, wrong_lines[_i].problem);
}
END_TEST

START_TEST(no_two_options_share_a_word_or_a_letter)
{
    for (size_t i = 0; i < cli_options_n; i++) {
        ck_assert_uint_ne(cli_options[i].commands & CLI_EVERY, 0);
        for (size_t k = 0; k < i; k++) {
            ck_assert_str_ne(cli_options[i].word, cli_options[k].word);
            ck_assert(cli_options[i].letter == 0 || cli_options[i].letter != cli_options[k].letter);
        }
    }
}
END_TEST

START_TEST(help_names_each_option_of_a_command_and_shows_examples_first)
{
    for (int command = 0; command < CLI_COMMANDS_N; command++) {
        char *help = NULL;
        size_t help_n;
        FILE *to = open_memstream(&help, &help_n);
        cli_help_command(to, (enum cli_command)command);
        fclose(to);
        const char *usage = strstr(help, "Usage: "), *example = strstr(help, "Examples:");
        ck_assert(example != NULL && usage != NULL && example < usage);
        for (size_t i = 0; i < cli_options_n; i++) {
            char option[64];
            snprintf(option, sizeof option, "--%s ", cli_options[i].word);
            bool takes = (cli_options[i].commands >> command & 1) != 0;
            ck_assert_msg((strstr(usage, option) != NULL) == takes, "%s: %s",
                          cli_commands[command].word, option);
        }
        free(help);
    }
}
END_TEST

/* ---- answers ---- */

START_TEST(a_script_can_tell_answers_apart)
{
    static const struct {
        long status;
        const char *code;
        enum cli_exit e;
    } rows[] = {
        {200, "", CLI_OK},
        {204, "", CLI_OK},
        {400, "QueueDoesNotExist", CLI_NOT_FOUND},
        {400, "AWS.SimpleQueueService.NonExistentQueue", CLI_NOT_FOUND},
        {404, "", CLI_NOT_FOUND},
        {404, "ReceiptHandleIsInvalid", CLI_NOT_FOUND},
        {410, "lease_expired", CLI_NOT_FOUND},
        {400, "InvalidParameterValueException", CLI_FAILURE},
        {401, "", CLI_REFUSED},
        {403, "SignatureDoesNotMatchException", CLI_REFUSED},
        {408, "", CLI_UNAVAILABLE},
        {413, "", CLI_FAILURE},
        {429, "", CLI_UNAVAILABLE},
        {500, "", CLI_UNAVAILABLE},
        {503, "ServiceUnavailable", CLI_UNAVAILABLE},
        {507, "", CLI_UNAVAILABLE},
        {301, "", CLI_FAILURE},
        {199, "", CLI_FAILURE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ck_assert_msg(cli_exit_of_answer(rows[i].status, rows[i].code) == rows[i].e, "%ld %s",
                      rows[i].status, rows[i].code);
}
END_TEST

START_TEST(some_of_many_is_a_partial_failure)
{
    ck_assert_int_eq(cli_exit_of_many(3, 0, CLI_FAILURE), CLI_OK);
    ck_assert_int_eq(cli_exit_of_many(0, 0, CLI_FAILURE), CLI_OK);
    ck_assert_int_eq(cli_exit_of_many(3, 1, CLI_UNAVAILABLE), CLI_PARTIAL);
    ck_assert_int_eq(cli_exit_of_many(0, 4, CLI_UNAVAILABLE), CLI_UNAVAILABLE);
}
END_TEST

START_TEST(a_fault_is_read_from_any_body)
{
    struct cli_fault fault;
    cli_fault_read(400,
                   BYTES_OF("{\"__type\":\"com.amazonaws.sqs#QueueDoesNotExist\","
                            "\"message\":\"No.\"}"),
                   &fault);
    ck_assert_int_eq(fault.status, 400);
    ck_assert_str_eq(fault.code, "QueueDoesNotExist");
    ck_assert_str_eq(fault.message, "No.");
    cli_fault_read(400, BYTES_OF("{\"__type\":\"Plain\",\"Message\":\"Upper\"}"), &fault);
    ck_assert_str_eq(fault.code, "Plain");
    ck_assert_str_eq(fault.message, "Upper");
    static const char *const others[] = {"", "<html>", "[]", "5", "{\"__type\":5,\"message\":{}}"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        memset(&fault, 'x', sizeof fault);
        cli_fault_read(500, bytes_of_text(others[i]), &fault);
        ck_assert_str_eq(fault.code, "");
        ck_assert_str_eq(fault.message, "");
    }
}
END_TEST

START_TEST(a_problem_is_read_with_what_is_wrong_where)
{
    struct cli_fault fault;
    cli_fault_read(410, BYTES_OF("{\"type\":\"/problems/lease_expired\",\"title\":\"Over\"}"),
                   &fault);
    ck_assert_str_eq(fault.code, "lease_expired");
    ck_assert_str_eq(fault.message, "Over");
    cli_fault_read(400,
                   BYTES_OF("{\"type\":\"/problems/invalid_parameter\",\"title\":\"T\","
                            "\"detail\":\"D\",\"errors\":[{\"parameter\":\"limit\","
                            "\"detail\":\"1 to 1000\"},{\"pointer\":\"/a\",\"detail\":\"x\"},"
                            "{\"detail\":\"bare\"},5]}"),
                   &fault);
    ck_assert_str_eq(fault.code, "invalid_parameter");
    ck_assert_str_eq(fault.message, "D (limit: 1 to 1000) (/a: x) (bare)");
    cli_fault_read(404, BYTES_OF("{\"type\":\"about:blank\",\"title\":\"Nothing\"}"), &fault);
    ck_assert_str_eq(fault.code, "");
    ck_assert_str_eq(fault.message, "Nothing");
}
END_TEST

/* ---- work ---- */

START_TEST(a_command_after_the_dashes_keeps_its_own_options)
{
    ck_assert_int_eq(parse("work jobs -j 4 -- grep -v --json -- x"), CLI_OK);
    ck_assert_int_eq(args.command, CLI_WORK);
    ck_assert(args.dashes && !args.json && !args.verbose);
    ck_assert_int_eq(args.jobs, 4);
    static const char *const words[] = {"jobs", "grep", "-v", "--json", "--", "x"};
    ck_assert_int_eq(args.words_n, 6);
    for (int i = 0; i < 6; i++)
        ck_assert_str_eq(args.words[i], words[i]);
    ck_assert_ptr_null(args.words[6]);
    ck_assert_int_eq(parse("work jobs cat"), CLI_OK);
    ck_assert(!args.dashes);
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("cli");
    TCase *tc = tcase_create("cli");
    tcase_add_checked_fixture(tc, NULL, parse_fini);
    tcase_add_test(tc, a_time_is_whole_seconds_or_has_a_unit);
    tcase_add_test(tc, seconds_with_a_fraction_are_kept_as_milliseconds);
    tcase_add_test(tc, a_number_keeps_to_its_bounds);
    tcase_add_test(tc, a_pair_is_split_at_its_first_equals_sign);
    tcase_add_test(tc, the_distance_of_words_counts_single_slips);
    tcase_add_test(tc, only_what_may_be_meant_is_suggested);
    tcase_add_test(tc, a_shell_reads_a_quoted_text_as_it_was);
    tcase_add_test(tc, without_options_the_defaults_hold);
    tcase_add_test(tc, options_may_stand_anywhere);
    tcase_add_test(tc, repeated_options_are_kept_in_order);
    tcase_add_test(tc, a_double_dash_ends_the_options);
    tcase_add_test(tc, help_and_version_win_over_the_command);
    tcase_add_loop_test(tc, a_wrong_line_is_answered_with_what_is_wrong, 0,
                        sizeof wrong_lines / sizeof wrong_lines[0]);
    tcase_add_test(tc, no_two_options_share_a_word_or_a_letter);
    tcase_add_test(tc, help_names_each_option_of_a_command_and_shows_examples_first);
    tcase_add_test(tc, a_script_can_tell_answers_apart);
    tcase_add_test(tc, some_of_many_is_a_partial_failure);
    tcase_add_test(tc, a_fault_is_read_from_any_body);
    tcase_add_test(tc, a_problem_is_read_with_what_is_wrong_where);
    tcase_add_test(tc, a_command_after_the_dashes_keeps_its_own_options);
    suite_add_tcase(s, tc);
    return s;
}
