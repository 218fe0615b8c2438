// SPDX-License-Identifier: Apache-2.0
#include "app/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"

enum kind { KIND_TEXT, KIND_FLAG, KIND_NUMBER };

struct row {
    const char *name; /* as on the command line, with dashes */
    enum kind kind;
    int64_t min, max;
    const char *preset;
    const char *arg;
    const char *help;
    size_t member; /* its place in struct serve_options */
};

#define TEXT KIND_TEXT, 0, 0
#define FLAG KIND_FLAG, 0, 0
#define NUMBER(min, max) KIND_NUMBER, min, max
#define OPTION(member, name, kind, preset, arg, help)                                              \
    {name, kind, preset, arg, help, offsetof(struct serve_options, member)},
static const struct row rows[] = {
#include "options.def"
};
#undef OPTION

enum { ROWS = sizeof rows / sizeof rows[0] };

/* Writes the value where its row says (a text is lent until exit); a sentence about what is wrong,
 * or NULL. */
static const char *value_set(struct serve_options *o, const struct row *row, const char *text,
                             char *why, size_t why_n)
{
    void *at = (char *)o + row->member;
    char *end;
    switch (row->kind) {
    case KIND_TEXT:
        *(const char **)at = text;
        return NULL;
    case KIND_FLAG:
        if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0) {
            snprintf(why, why_n, "%s must be true or false, not '%s'", row->name, text);
            return why;
        }
        *(bool *)at = text[0] == 't';
        return NULL;
    case KIND_NUMBER:
        errno = 0;
        *(int64_t *)at = strtoll(text, &end, 10);
        if (errno == 0 && end != text && *end == '\0' && *(int64_t *)at >= row->min &&
            *(int64_t *)at <= row->max)
            return NULL;
        snprintf(why, why_n, "%s must be a number from %lld to %lld, not '%s'", row->name,
                 (long long)row->min, (long long)row->max, text);
        return why;
    }
    UNREACHABLE();
}

/* data-dir ↔ data_dir ↔ LEASELOG_DATA_DIR */
static void key_of(const struct row *row, char *key, size_t room)
{
    snprintf(key, room, "%s", row->name);
    for (char *p = key; *p != '\0'; p++)
        *p = *p == '-' ? '_' : *p;
}

static const struct row *row_of_key(const char *key)
{
    char name[64];
    for (size_t i = 0; i < ROWS; i++) {
        key_of(&rows[i], name, sizeof name);
        if (strcmp(name, key) == 0)
            return &rows[i];
    }
    return NULL;
}

struct file_reading {
    struct serve_options *options;
    const char *path;
    FILE *file;
    int line; /* counted here: inih tells it only when a file does not parse */
    bool bad;
};

static char *line_get(char *at, int room, void *arg)
{
    struct file_reading *f = arg;
    f->line++;
    return fgets(at, room, f->file);
}

/* inih lends values for the call only; they are kept here until exit. */
static char *kept[ROWS * 4];
static size_t kept_n;

static const char *keep(const char *value)
{
    CHECK(kept_n < sizeof kept / sizeof kept[0]);
    return kept[kept_n++] = mem_copy_text(value);
}

static int file_line(void *arg, const char *section, const char *key, const char *value)
{
    struct file_reading *f = arg;
    char why[256];
    const struct row *row = *section == '\0' ? row_of_key(key) : NULL;
    const char *wrong = NULL;
    if (row == NULL) {
        snprintf(why, sizeof why, "unknown key '%.60s'%s; `leaselog serve --help` lists them", key,
                 *section == '\0' ? "" : " in a section, and there are none");
        wrong = why;
    } else if (kept_n == sizeof kept / sizeof kept[0]) {
        wrong = "too many lines";
    } else {
        wrong = value_set(f->options, row, keep(value), why, sizeof why);
    }
    if (wrong == NULL)
        return 1;
    fprintf(stderr, "leaselog: %s:%d: %s\n", f->path, f->line, wrong);
    f->bad = true;
    return 1;
}

static enum options_verdict file_read(const char *path, struct serve_options *o)
{
    struct file_reading f = {.options = o, .path = path, .file = fopen(path, "r")};
    if (f.file == NULL) {
        fprintf(stderr, "leaselog: cannot read the configuration file %s: %s\n", path,
                strerror(errno));
        return OPTIONS_CONFIG;
    }
    int result = ini_parse_stream(line_get, &f, file_line, &f);
    fclose(f.file);
    if (result != 0)
        fprintf(stderr, "leaselog: %s:%d: neither a key = value line nor a comment\n", path,
                result);
    return result != 0 || f.bad ? OPTIONS_CONFIG : OPTIONS_OK;
}

static enum options_verdict environment_read(struct serve_options *o)
{
    char key[64], name[80], why[256];
    for (size_t i = 0; i < ROWS; i++) {
        key_of(&rows[i], key, sizeof key);
        for (char *p = key; *p != '\0'; p++)
            *p = (char)toupper((unsigned char)*p);
        snprintf(name, sizeof name, "LEASELOG_%s", key);
        const char *value = getenv(name);
        if (value == NULL)
            continue;
        const char *wrong = value_set(o, &rows[i], value, why, sizeof why);
        if (wrong != NULL) {
            fprintf(stderr, "leaselog: environment variable %s: %s\n", name, wrong);
            return OPTIONS_CONFIG;
        }
    }
    return OPTIONS_OK;
}

static void help_print(void)
{
    puts("Usage: leaselog serve [--listen ADDR:PORT] [--data-dir DIR] [OPTION]...\n"
         "\n"
         "Serves queues over HTTP until it is stopped (SIGTERM, Ctrl-C).\n"
         "\n"
         "  leaselog serve --listen 127.0.0.1:9324 --data-dir ./data\n"
         "\n"
         "Options (each also as LEASELOG_NAME in the environment, and as a line `name = value` in\n"
         "the file given with --config):");
    puts("  --config FILE\n        read settings from FILE");
    for (size_t i = 0; i < ROWS; i++)
        printf("  --%s%s%s\n        %s%s%s%s\n", rows[i].name, rows[i].arg == NULL ? "" : " ",
               rows[i].arg == NULL ? "" : rows[i].arg, rows[i].help,
               *rows[i].preset == '\0' ? "" : " (default ", rows[i].preset,
               *rows[i].preset == '\0' ? "" : ")");
}

/* getopt's long options: the rows in their order, then config and help. */
static void getopt_table(struct option table[ROWS + 3])
{
    memset(table, 0, (ROWS + 3) * sizeof table[0]);
    for (size_t i = 0; i < ROWS; i++)
        table[i] = (struct option){rows[i].name,
                                   rows[i].kind == KIND_FLAG ? no_argument : required_argument,
                                   NULL, (int)(256 + i)};
    table[ROWS] = (struct option){"config", required_argument, NULL, 'c'};
    table[ROWS + 1] = (struct option){"help", no_argument, NULL, 'h'};
}

static enum options_verdict line_read(int argc, char **argv, struct serve_options *o)
{
    struct option table[ROWS + 3];
    getopt_table(table);
    char why[256];
    optind = 0;
    for (int got; (got = getopt_long(argc, argv, "h", table, NULL)) != -1;) {
        if (got == '?')
            return OPTIONS_USAGE;
        if (got < 256)
            continue;
        const struct row *row = &rows[got - 256];
        const char *wrong =
            value_set(o, row, row->kind == KIND_FLAG ? "true" : optarg, why, sizeof why);
        if (wrong != NULL) {
            fprintf(stderr, "leaselog: --%s\n", wrong);
            return OPTIONS_USAGE;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "leaselog: '%s' is not expected; see `leaselog serve --help`\n",
                argv[optind]);
        return OPTIONS_USAGE;
    }
    return OPTIONS_OK;
}

/* The file and --help are looked for before everything else is read. */
static enum options_verdict first_look(int argc, char **argv, const char **config)
{
    struct option table[ROWS + 3];
    getopt_table(table);
    *config = getenv("LEASELOG_CONFIG");
    optind = 0;
    opterr = 0;
    for (int got; (got = getopt_long(argc, argv, "h", table, NULL)) != -1;) {
        if (got == 'c')
            *config = optarg;
        if (got == 'h') {
            help_print();
            return OPTIONS_HELP;
        }
    }
    opterr = 1;
    return OPTIONS_OK;
}

enum options_verdict options_read(int argc, char **argv, struct serve_options *out)
{
    const char *config;
    char why[256];
    for (size_t i = 0; i < ROWS; i++)
        CHECK(value_set(out, &rows[i], rows[i].preset, why, sizeof why) == NULL);
    enum options_verdict v = first_look(argc, argv, &config);
    if (v == OPTIONS_OK && config != NULL)
        v = file_read(config, out);
    if (v == OPTIONS_OK)
        v = environment_read(out);
    if (v == OPTIONS_OK)
        v = line_read(argc, argv, out);
    return v;
}
