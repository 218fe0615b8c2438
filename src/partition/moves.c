// SPDX-License-Identifier: Apache-2.0
/* Open moves: a message is on its way to another topic, and is neither visible nor in flight until
 * MOVED finishes it or UNMOVE gives it back. */
#include "base/check.h"
#include "base/mem.h"
#include "partition/state.h"

static size_t place(const struct moves *m, uint64_t seq)
{
    size_t low = 0, high = m->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (m->at[middle].open.seq >= seq)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

struct move *moves_find(const struct moves *m, uint64_t seq)
{
    size_t i = place(m, seq);
    return i < m->n && m->at[i].open.seq == seq && !m->at[i].closed ? &m->at[i] : NULL;
}

void moves_add(struct moves *m, const struct move *move)
{
    CHECK(m->n == 0 || move->open.seq > m->at[m->n - 1].open.seq);
    if (m->n == m->room) {
        m->room = m->room == 0 ? 8 : m->room * 2;
        m->at = mem_resize(m->at, m->room * sizeof m->at[0]);
    }
    m->at[m->n++] = *move;
    m->next_seq = move->open.seq + 1;
}

/* One that stays open for long must not keep all later ones in memory: once half are closed, they
 * are swept out. */
void moves_close(struct moves *m, struct move *move)
{
    CHECK(!move->closed);
    move->closed = true;
    m->closed_n++;
    if (m->closed_n * 2 <= m->n)
        return;
    size_t kept = 0;
    for (size_t i = 0; i < m->n; i++)
        if (!m->at[i].closed)
            m->at[kept++] = m->at[i];
    m->n = kept;
    m->closed_n = 0;
    if (m->room > 64 && m->n < m->room / 8) {
        m->room /= 2;
        m->at = mem_resize(m->at, m->room * sizeof m->at[0]);
    }
}

size_t partition_moves_open(const struct partition *p, uint64_t from, struct partition_move *out,
                            size_t room)
{
    size_t n = 0;
    for (size_t i = place(&p->moves, from); i < p->moves.n && n < room; i++)
        if (!p->moves.at[i].closed)
            out[n++] = p->moves.at[i].open;
    return n;
}

uint64_t partition_moves_closed(const struct partition *p)
{
    struct partition_move first;
    return partition_moves_open(p, 0, &first, 1) == 1 ? first.seq : p->moves.next_seq;
}

enum err partition_plan_moved(const struct partition *p, uint64_t seq, bool called_off,
                              struct record *out)
{
    if (moves_find(&p->moves, seq) == NULL)
        return ERR_GONE;
    memset(out, 0, sizeof *out);
    out->type = called_off ? RECORD_UNMOVE : RECORD_MOVED;
    out->moved.seq = seq;
    return ERR_OK;
}
