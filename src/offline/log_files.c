// SPDX-License-Identifier: Apache-2.0
#include "offline/log_files.h"

#include <string.h>

#include "base/mem.h"
#include "plog/files.h"

enum { NAME_DIGITS = 20 };

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), end_n = strlen(end);
    return n >= end_n && strcmp(text + n - end_n, end) == 0;
}

/* FIRST-END.clean */
static bool is_clean_name(const char *name, uint64_t *first, uint64_t *end)
{
    char head[NAME_DIGITS + 1] = {0};
    if (strlen(name) != 2 * NAME_DIGITS + sizeof "-.clean" - 1 || name[NAME_DIGITS] != '-')
        return false;
    memcpy(head, name, NAME_DIGITS);
    return names_number(head, NAME_DIGITS, "", first) &&
           names_number(name + NAME_DIGITS + 1, NAME_DIGITS, ".clean", end);
}

static struct offline_file file_of(const char *dir, const char *name)
{
    struct offline_file f = {.path = file_path(dir, name)};
    bool numbered = strlen(name) > NAME_DIGITS;
    if (numbered && names_number(name, NAME_DIGITS, ".log", &f.name))
        f.kind = FILE_SEGMENT;
    else if (numbered && names_number(name, NAME_DIGITS, ".index", &f.name))
        f.kind = FILE_INDEX;
    else if (numbered && names_number(name, NAME_DIGITS, ".snap", &f.name))
        f.kind = FILE_SNAPSHOT;
    else if (numbered && names_number(name, NAME_DIGITS, ".anew", &f.name))
        f.kind = FILE_ANEW;
    else if (is_clean_name(name, &f.name, &f.clean_end))
        f.kind = FILE_SEGMENT;
    else if (strcmp(name, "salvage") == 0)
        f.kind = FILE_SALVAGE;
    else if (strcmp(name, "copy") == 0)
        f.kind = FILE_COPY;
    else
        f.kind = ends_with(name, ".tmp") ? FILE_TMP : FILE_OTHER;
    return f;
}

/* Whether the cleaned segment, which counts, takes this file's place. */
static bool is_replaced(const struct offline_file *f, const struct offline_file *clean)
{
    return f->clean_end == 0 && (f->kind == FILE_SEGMENT || f->kind == FILE_INDEX) &&
           f->name >= clean->name && f->name < clean->clean_end;
}

static void apply_swap(struct offline_files *f)
{
    for (size_t i = 0; i < f->n; i++) {
        if (f->at[i].clean_end == 0)
            continue;
        struct offline_file clean = f->at[i];
        size_t kept = 0;
        for (size_t k = 0; k < f->n; k++) {
            if (is_replaced(&f->at[k], &clean))
                mem_free(f->at[k].path);
            else
                f->at[kept++] = f->at[k];
        }
        f->n = kept;
        return; /* there is at most one; a second one is damage, and shows as such */
    }
}

enum err offline_files_list(const struct disk *d, const char *dir, struct offline_files *out)
{
    struct names names;
    enum err e = names_list(d, dir, &names);
    if (e != ERR_OK)
        return e;
    struct offline_files f = {.at = mem_new_array(names.n + 1, sizeof f.at[0])};
    for (size_t i = 0; i < names.n; i++)
        f.at[f.n++] = file_of(dir, names.at[i]);
    names_fini(&names);
    apply_swap(&f);
    *out = f;
    return ERR_OK;
}

void offline_files_fini(struct offline_files *f)
{
    for (size_t i = 0; i < f->n; i++)
        mem_free(f->at[i].path);
    mem_free(f->at);
    *f = (struct offline_files){0};
}

const struct offline_file *offline_files_find(const struct offline_files *f,
                                              enum offline_file_kind kind, uint64_t name)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->at[i].kind == kind && f->at[i].name == name)
            return &f->at[i];
    return NULL;
}
