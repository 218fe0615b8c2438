// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "sim/sim.h"

/* Mostly short; now and then one that fills pages. */
static size_t filler_bytes(uint32_t serial)
{
    uint32_t drawn = serial * 2654435761u;
    return drawn >> 29 == 0 ? 2000 + (drawn & 4095) : (drawn >> 8) % 90;
}

void sim_text_init(struct sim_text *t, uint32_t serial, uint32_t group, uint32_t dedup)
{
    memset(t, 0, sizeof *t);
    struct rng rng = {.state = serial};
    buf_put_format(&t->body, "m%08u.", serial);
    for (size_t n = filler_bytes(serial); n > 0; n--)
        buf_put_u8(&t->body, (uint8_t)('a' + rng_below(&rng, 26)));
    for (unsigned i = 0; i < serial % 3; i++) {
        snprintf(t->values[i], sizeof t->values[i], "v%u.%u", serial, i);
        t->attributes[i] = (struct queue_attribute){
            .name = i == 0 ? BYTES_OF("one") : BYTES_OF("two"),
            .data_type = i == 0 ? BYTES_OF("String") : BYTES_OF("Binary.x"),
            .binary = i == 1,
            .value = bytes_of_text(t->values[i]),
        };
    }
    t->message = (struct queue_message){
        .body = buf_bytes(&t->body),
        .attributes = t->attributes,
        .attributes_n = serial % 3,
        .delay_ms = -1,
    };
    rng_fill(&rng, t->message.body_md5, sizeof t->message.body_md5);
    if (serial % 5 == 0) {
        snprintf(t->trace, sizeof t->trace, "trace-%u", serial);
        t->message.trace = bytes_of_text(t->trace);
    }
    if (group != 0) {
        snprintf(t->group, sizeof t->group, "g%u", group);
        t->message.group_id = bytes_of_text(t->group);
    }
    if (dedup != 0) {
        snprintf(t->dedup, sizeof t->dedup, "d%u", dedup);
        t->message.dedup_id = bytes_of_text(t->dedup);
    }
}

void sim_text_fini(struct sim_text *t)
{
    buf_fini(&t->body);
}

uint32_t sim_serial_of(struct bytes body)
{
    char digits[9] = "";
    const char *at = body.at;
    if (body.n < 10 || at[0] != 'm' || at[9] != '.')
        return HISTORY_NONE;
    memcpy(digits, at + 1, 8);
    char *end;
    unsigned long serial = strtoul(digits, &end, 10);
    return *end == 0 ? (uint32_t)serial : HISTORY_NONE;
}

/* A dead letter on a FIFO topic shows its message id as deduplication id. */
bool sim_is_intact(const struct queue_received *r, uint32_t serial, uint32_t group, uint32_t dedup)
{
    struct sim_text t;
    sim_text_init(&t, serial, group, dedup);
    const struct queue_message *m = &t.message;
    bool same = bytes_equal(r->body, m->body) && bytes_equal(r->trace, m->trace) &&
                memcmp(r->body_md5, m->body_md5, sizeof m->body_md5) == 0 &&
                r->attributes_n == m->attributes_n && bytes_equal(r->group_id, m->group_id) &&
                (r->origin.n > 0 || bytes_equal(r->dedup_id, m->dedup_id));
    for (size_t i = 0; same && i < m->attributes_n; i++) {
        const struct queue_attribute *a = &r->attributes[i], *b = &m->attributes[i];
        same = bytes_equal(a->name, b->name) && bytes_equal(a->value, b->value) &&
               bytes_equal(a->data_type, b->data_type) && a->binary == b->binary;
    }
    sim_text_fini(&t);
    return same;
}
