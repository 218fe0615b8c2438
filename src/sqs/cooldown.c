// SPDX-License-Identifier: Apache-2.0
#include "sqs/cooldown.h"

#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "sqs/name.h"

struct sqs_cooldown_entry {
    int64_t at_ms;
    size_t name_n;
    char name[SQS_NAME_MAX];
};

static void drop_old(struct sqs_cooldown *c, int64_t now_ms)
{
    size_t old = 0;
    while (old < c->n && now_ms - c->at[old].at_ms >= SQS_COOLDOWN_MS)
        old++;
    if (old == 0)
        return;
    c->n -= old;
    memmove(c->at, c->at + old, c->n * sizeof *c->at);
}

void sqs_cooldown_fini(struct sqs_cooldown *c)
{
    mem_free(c->at);
    *c = (struct sqs_cooldown){NULL, 0, 0};
}

void sqs_cooldown_note(struct sqs_cooldown *c, struct bytes name, int64_t now_ms)
{
    CHECK(name.n <= SQS_NAME_MAX);
    drop_old(c, now_ms);
    if (c->n == c->room) {
        c->room = c->room == 0 ? 16 : 2 * c->room;
        c->at = mem_resize(c->at, c->room * sizeof *c->at);
    }
    struct sqs_cooldown_entry *e = &c->at[c->n++];
    e->at_ms = now_ms;
    e->name_n = name.n;
    memcpy(e->name, name.at, name.n);
}

static size_t find(const struct sqs_cooldown *c, struct bytes name)
{
    size_t i = 0;
    while (i < c->n && !bytes_equal((struct bytes){c->at[i].name, c->at[i].name_n}, name))
        i++;
    return i;
}

void sqs_cooldown_forget(struct sqs_cooldown *c, struct bytes name)
{
    size_t i = find(c, name);
    if (i == c->n)
        return;
    c->n--;
    memmove(c->at + i, c->at + i + 1, (c->n - i) * sizeof *c->at);
}

bool sqs_cooldown_holds(struct sqs_cooldown *c, struct bytes name, int64_t now_ms)
{
    drop_old(c, now_ms);
    return find(c, name) < c->n;
}
