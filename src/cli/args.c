// SPDX-License-Identifier: Apache-2.0
#include "cli/args.h"

#include <getopt.h>
#include <string.h>

#include "base/mem.h"
#include "cli/offline_commands.h"
#include "cli/text.h"

const struct cli_command_row cli_commands[CLI_COMMANDS_N] = {
#define COMMAND(id, word, arguments, summary, examples)                                            \
    [CLI_##id] = {#word, arguments, summary, examples},
#include "cli_commands.def"
#undef COMMAND
};

enum option_id {
#define OPTION(id, word, letter, argument, kind, member, commands, help) OPT_##id,
#include "cli_options.def"
#undef OPTION
    OPT_N
};

#define FLAG CLI_KIND_FLAG, 0, 0
#define TEXT CLI_KIND_TEXT, 0, 0
#define TIME(min) CLI_KIND_TIME, min, CLI_SECONDS_MAX
#define NUMBER(min, max) CLI_KIND_NUMBER, min, max
#define MILLIS(min, max) CLI_KIND_MILLIS, min, max
#define PAIR CLI_KIND_PAIR, 0, 0
#define TYPED_PAIR CLI_KIND_TYPED_PAIR, 0, 0
#define ASIDE CLI_KIND_ASIDE, 0, 0
const struct cli_option_row cli_options[] = {
#define OPTION(id, word, letter, argument, kind, member, commands, help)                           \
    [OPT_##id] = {word, letter, argument, kind, offsetof(struct cli_args, member), commands, help},
#include "cli_options.def"
#undef OPTION
};
const size_t cli_options_n = OPT_N;

enum { TIMEOUT_S = 30, LONG_BASE = 256 };

/* getopt's two tables, from ours. A long option's value is LONG_BASE + its row. */
static void getopt_tables(struct option longs[OPT_N + 1], char shorts[2 * OPT_N + 2])
{
    char *at = shorts;
    *at++ = ':'; /* tells a missing argument from an unknown option */
    for (int i = 0; i < OPT_N; i++) {
        const struct cli_option_row *row = &cli_options[i];
        longs[i] = (struct option){row->word, row->argument != NULL, NULL, LONG_BASE + i};
        if (row->letter == 0)
            continue;
        *at++ = (char)row->letter;
        if (row->argument != NULL)
            *at++ = ':';
    }
    *at = '\0';
    longs[OPT_N] = (struct option){0};
}

static enum option_id option_of(int value)
{
    for (int i = 0; i < OPT_N; i++)
        if (value == LONG_BASE + i || value == cli_options[i].letter)
            return (enum option_id)i;
    UNREACHABLE();
}

static void list_put(struct cli_list *list, const char *text)
{
    list->at = mem_resize(list->at, (list->n + 1) * sizeof *list->at);
    list->at[list->n++] = text;
}

/* False when the option's argument is not what it takes. */
static bool option_set(struct cli_args *a, const struct cli_option_row *row, const char *text)
{
    struct cli_pair pair;
    void *at = (char *)a + row->member;
    int64_t v;
    switch (row->kind) {
    case CLI_KIND_FLAG:
        return *(bool *)at = true;
    case CLI_KIND_TEXT:
        *(const char **)at = text;
        return row->argument[0] != 'U' || text[0] != '\0'; /* a URL is never empty */
    case CLI_KIND_TIME:
        if (!cli_seconds_read(text, &v) || v < row->min)
            return false;
        *(int64_t *)at = v;
        return true;
    case CLI_KIND_NUMBER:
        return cli_number_read(text, row->min, row->max, at);
    case CLI_KIND_MILLIS:
        return cli_millis_read(text, row->min, row->max, at);
    case CLI_KIND_PAIR:
    case CLI_KIND_TYPED_PAIR:
        list_put(at, text);
        return cli_pair_read(text, &pair) && (row->kind == CLI_KIND_TYPED_PAIR || pair.type.n == 0);
    case CLI_KIND_ASIDE:
        break;
    }
    UNREACHABLE();
}

/* `given` is what the user typed, such as "--dealy=3". */
static void problem_unknown_option(struct buf *problem, const char *given)
{
    const char *words[OPT_N];
    char word[64];
    size_t n = strcspn(given + 2, "=");
    for (size_t i = 0; i < OPT_N; i++)
        words[i] = cli_options[i].word;
    buf_put_format(problem, "there is no option %.*s", (int)n + 2, given);
    if (n >= sizeof word)
        return;
    memcpy(word, given + 2, n);
    word[n] = '\0';
    const char *near = cli_word_nearest(word, words, OPT_N);
    if (near != NULL)
        buf_put_format(problem, "; did you mean --%s?", near);
}

/* What getopt refused: '?' unknown, or an argument for an option that takes none; ':' an argument
 * is missing. */
static void problem_refused(struct buf *problem, int refused, const char *given)
{
    if (optopt == 0) {
        problem_unknown_option(problem, given);
        return;
    }
    if (refused == '?' && optopt < LONG_BASE) {
        buf_put_format(problem, "there is no option -%c", optopt);
        return;
    }
    const struct cli_option_row *row = &cli_options[option_of(optopt)];
    if (refused == ':')
        buf_put_format(problem, "--%s needs an argument: %s", row->word, row->argument);
    else
        buf_put_format(problem, "--%s takes no argument", row->word);
}

static enum cli_exit command_find(const char *word, enum cli_command *out, struct buf *problem)
{
    const char *words[CLI_COMMANDS_N + 1 + CLI_OFFLINE_N];
    for (int i = 0; i < CLI_COMMANDS_N; i++) {
        words[i] = cli_commands[i].word;
        if (strcmp(word, words[i]) == 0) {
            *out = (enum cli_command)i;
            return CLI_OK;
        }
    }
    words[CLI_COMMANDS_N] = "serve"; /* app's, but it may be meant; so may those of offline */
    for (int i = 0; i < CLI_OFFLINE_N; i++)
        words[CLI_COMMANDS_N + 1 + i] = cli_offline_commands[i].word;
    buf_put_format(problem, "there is no command '%s'", word);
    const char *near = cli_word_nearest(word, words, CLI_COMMANDS_N + 1 + CLI_OFFLINE_N);
    if (near != NULL)
        buf_put_format(problem, "; did you mean '%s'?", near);
    return CLI_USAGE;
}

/* What follows from the options seen, once all were read. */
struct seen {
    bool at[OPT_N];
};

static enum cli_exit finish(struct cli_args *a, const struct seen *seen, struct buf *problem)
{
    if (seen->at[OPT_HELP]) {
        a->command = CLI_HELP; /* `words` still begins with the command */
        return CLI_OK;
    }
    if (seen->at[OPT_VERSION]) {
        a->command = CLI_VERSION;
        a->words_n = 0;
        return CLI_OK;
    }
    if (a->words_n == 0) {
        buf_put_text(problem, "which command?");
        return CLI_USAGE;
    }
    enum cli_exit e = command_find(a->words[0], &a->command, problem);
    if (e != CLI_OK)
        return e;
    a->words++;
    a->words_n--;
    for (int i = 0; i < OPT_N; i++)
        if (seen->at[i] && !(cli_options[i].commands & (1U << a->command))) {
            buf_put_format(problem, "%s does not take --%s", cli_commands[a->command].word,
                           cli_options[i].word);
            return CLI_USAGE;
        }
    return CLI_OK;
}

enum cli_exit cli_args_parse(int argc, char **argv, struct cli_args *out, struct buf *problem)
{
    struct option longs[OPT_N + 1];
    char shorts[2 * OPT_N + 2];
    struct seen seen = {{0}};
    int value;
    *out = (struct cli_args){.timeout_s = TIMEOUT_S,
                             .delay_s = -1,
                             .wait_s = -1,
                             .visibility_s = -1,
                             .retry_delay_s = -1,
                             .delete_retention_s = -1,
                             .jobs = 1};
    getopt_tables(longs, shorts);
    optind = 0; /* glibc: begin anew */
    opterr = 0;
    while ((value = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
        if (value == '?' || value == ':') {
            problem_refused(problem, value, argv[optind - 1]);
            return CLI_USAGE;
        }
        enum option_id id = option_of(value);
        seen.at[id] = true;
        const struct cli_option_row *row = &cli_options[id];
        if (row->kind == CLI_KIND_ASIDE || option_set(out, row, optarg))
            continue;
        buf_put_format(problem, "--%s: '%s' is not %s", row->word, optarg, row->argument);
        if (row->kind == CLI_KIND_TIME)
            buf_put_text(problem, ", such as 30s, 5m or 2h");
        if (row->kind == CLI_KIND_MILLIS)
            buf_put_format(problem, ", a number from %g to %g", (double)row->min / 1000,
                           (double)row->max / 1000);
        if (row->kind == CLI_KIND_NUMBER)
            buf_put_format(problem, ", a number from %lld to %lld", (long long)row->min,
                           (long long)row->max);
        return CLI_USAGE;
    }
    /* getopt has moved the options and the "--" before the words. */
    out->dashes = optind > 1 && strcmp(argv[optind - 1], "--") == 0;
    out->words = argv + optind;
    out->words_n = argc - optind;
    return finish(out, &seen, problem);
}

void cli_args_fini(struct cli_args *args)
{
    mem_free(args->attributes.at);
    mem_free(args->settings.at);
    args->attributes = args->settings = (struct cli_list){NULL, 0};
}
