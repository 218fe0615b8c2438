// SPDX-License-Identifier: Apache-2.0
#include "offline/args.h"

#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"

enum kind { KIND_FLAG, KIND_COUNT };

struct row {
    enum offline_command command;
    const char *name;
    enum kind kind;
    size_t member; /* its place in struct offline_args */
};

#define COMMAND(id, word, arguments, summary, examples)
#define OPTION(command, name, kind, member, arg, help)                                             \
    {OFFLINE_##command, name, KIND_##kind, offsetof(struct offline_args, member)},
static const struct row rows[] = {
#include "offline.def"
};
#undef COMMAND
#undef OPTION

enum { ROWS = sizeof rows / sizeof rows[0], LONG_BASE = 256 };

static const char *const words[] = {
#define COMMAND(id, word, arguments, summary, examples) #word,
#define OPTION(command, name, kind, member, arg, help)
#include "offline.def"
#undef COMMAND
#undef OPTION
};

enum offline_command offline_command_find(const char *word)
{
    int i = 0;
    while (i < OFFLINE_COMMANDS_N && strcmp(word, words[i]) != 0)
        i++;
    return (enum offline_command)i;
}

static bool count_read(const char *text, uint64_t max, uint64_t *out)
{
    char *end;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || v > max)
        return false;
    *out = v;
    return true;
}

static bool usage(const struct offline_args *a, const char *what, const char *word)
{
    fprintf(stderr, "leaselog: %s: %s%s\nTry: leaselog help %s\n", words[a->command], what, word,
            words[a->command]);
    return false;
}

static bool words_read(struct offline_args *a, int n, char **at)
{
    uint64_t partition;
    if (n == 0)
        return usage(a, "which data directory?", "");
    a->dir = at[0];
    if (n == 1)
        return true;
    if (a->command != OFFLINE_DUMP)
        return usage(a, "not expected: ", at[1]);
    if (n == 2)
        return usage(a, "which partition of topic ", at[1]);
    if (n > 3)
        return usage(a, "not expected: ", at[3]);
    a->topic = at[1];
    if (!count_read(at[2], UINT32_MAX, &partition))
        return usage(a, "a partition is a number, not ", at[2]);
    a->partition = (uint32_t)partition;
    return true;
}

static bool option_set(struct offline_args *a, const struct row *row, const char *text)
{
    void *at = (char *)a + row->member;
    if (row->kind == KIND_FLAG) {
        *(bool *)at = true;
        return true;
    }
    if (count_read(text, UINT64_MAX, at))
        return true;
    char what[64];
    snprintf(what, sizeof what, "--%s takes a whole number, not ", row->name);
    return usage(a, what, text);
}

bool offline_args_read(int argc, char **argv, struct offline_args *out)
{
    struct option table[ROWS + 1] = {{0}};
    struct offline_args a = {.command = offline_command_find(argv[0]), .limit = UINT64_MAX};
    CHECK(a.command < OFFLINE_COMMANDS_N);
    int n = 0;
    for (int i = 0; i < ROWS; i++)
        if (rows[i].command == a.command)
            table[n++] = (struct option){
                rows[i].name, rows[i].kind == KIND_FLAG ? no_argument : required_argument, NULL,
                LONG_BASE + i};
    optind = 0; /* glibc: begin anew */
    opterr = 0;
    for (int got; (got = getopt_long(argc, argv, "", table, NULL)) != -1;) {
        if (got == '?')
            return usage(&a, "what is meant by ", argv[optind - 1]);
        if (!option_set(&a, &rows[got - LONG_BASE], optarg))
            return false;
    }
    if (!words_read(&a, argc - optind, argv + optind))
        return false;
    if (a.repair && a.online)
        return usage(&a, "--repair needs a directory that no broker serves", "");
    *out = a;
    return true;
}
