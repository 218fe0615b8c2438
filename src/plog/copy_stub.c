// SPDX-License-Identifier: Apache-2.0
/* Stands in for what a log cannot do yet. */
#include "plog/copy.h"
#include "plog/inside.h"

enum err plog_truncate(struct plog_log *l, uint64_t end)
{
    return plog_durable(l) == end ? ERR_OK : ERR_FAILED;
}

enum err plog_begin_anew(struct plog_log *l, uint64_t start, uint64_t start_number,
                         uint64_t start_last_epoch, uint64_t snapshot_offset, struct bytes state)
{
    (void)start_number, (void)start_last_epoch, (void)snapshot_offset, (void)state;
    return plog_durable(l) == start ? ERR_OK : ERR_FAILED;
}

uint64_t plog_incarnation(const struct plog_log *l)
{
    return l->incarnation;
}

enum err plog_adopt(struct plog_log *l, uint64_t incarnation)
{
    (void)l, (void)incarnation;
    return ERR_FAILED;
}

bool plog_is_adopted(const struct plog_log *l)
{
    (void)l;
    return false;
}
