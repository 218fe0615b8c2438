// SPDX-License-Identifier: Apache-2.0
#include "fuzz/message_walk.h"

#include "catalog/topic.h"
#include "partition/record.h"

static void put_attributes(const struct queue_message *m, struct buf *list)
{
    for (size_t i = 0; i < m->attributes_n; i++) {
        const struct queue_attribute *a = &m->attributes[i];
        const struct record_attribute r = {a->name, a->data_type,
                                           a->binary ? ATTRIBUTE_BINARY : ATTRIBUTE_TEXT, a->value};
        record_attribute_put(list, &r);
    }
}

void walk_message(const struct queue_message *m, const struct topic_config *t)
{
    struct buf list = BUF_EMPTY, payload = BUF_EMPTY;
    struct record decoded, r = {.type = RECORD_MESSAGE};
    CHECK(m->body.n > 0 && m->body.n <= t->message_bytes_max);
    CHECK(m->group_id.n <= QUEUE_ID_BYTES_MAX && m->dedup_id.n <= QUEUE_ID_BYTES_MAX);
    CHECK(!t->fifo || (m->group_id.n > 0 && m->dedup_id.n > 0));
    CHECK(m->delay_ms <= TOPIC_DELAY_MS_MAX);
    put_attributes(m, &list);
    r.message = (struct record_message){
        .body = m->body,
        .attributes = buf_bytes(&list),
        .trace = m->trace,
        .due_ms = m->delay_ms,
        .group_id = m->group_id,
        .group_hash = {{m->group_id.n > 0}},
        .dedup_id = m->dedup_id,
        .dedup_hash = {{m->dedup_id.n > 0}},
        .dedup_until_ms = m->dedup_id.n > 0 ? 300000 : 0,
    };
    record_encode(&r, &payload);
    CHECK(record_decode(RECORD_MESSAGE, buf_bytes(&payload), &decoded) == ERR_OK);
    CHECK(bytes_equal(decoded.message.body, m->body));
    CHECK(bytes_equal(decoded.message.attributes, buf_bytes(&list)));
    CHECK(bytes_equal(decoded.message.trace, m->trace));
    CHECK(bytes_equal(decoded.message.group_id, m->group_id));
    CHECK(bytes_equal(decoded.message.dedup_id, m->dedup_id));
    buf_fini(&list);
    buf_fini(&payload);
}

void walk_topic(const struct topic_config *t)
{
    struct buf json = BUF_EMPTY, again_json = BUF_EMPTY;
    struct topic_config again;
    topic_config_encode(t, &json);
    CHECK(topic_config_decode(buf_bytes(&json), &again) == ERR_OK);
    topic_config_encode(&again, &again_json);
    CHECK(bytes_equal(buf_bytes(&json), buf_bytes(&again_json)));
    topic_config_fini(&again);
    buf_fini(&json);
    buf_fini(&again_json);
}
