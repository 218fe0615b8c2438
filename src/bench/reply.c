// SPDX-License-Identifier: Apache-2.0
#include "bench/reply.h"

#include "base/json.h"

static uint64_t stamp_of(struct bytes body)
{
    const char *at = body.at;
    uint64_t stamp_ns = 0;
    if (body.n < BENCH_STAMP_DIGITS)
        return 0;
    for (size_t i = 0; i < BENCH_STAMP_DIGITS; i++) {
        /* 20 digits may say more than fits, which wraps: no time of ours then, and none is taken
         * that was not sent within the run. */
        if (at[i] < '0' || at[i] > '9')
            return 0;
        stamp_ns = 10 * stamp_ns + (uint64_t)(at[i] - '0');
    }
    return stamp_ns;
}

/* One message, whose object is due. */
static bool message_read(struct json *p, struct bench_received *out)
{
    struct bytes key, body = BYTES_NONE, receipt = BYTES_NONE;
    json_enter_object(p);
    while (json_next_member(p, &key)) {
        if (bytes_equal(key, BYTES_OF("ReceiptHandle")))
            json_read_string(p, &receipt);
        else if (bytes_equal(key, BYTES_OF("Body")))
            json_read_string(p, &body);
    }
    if (receipt.n == 0 || out->n == BENCH_BATCH_MAX)
        return false;
    out->stamps_ns[out->n] = stamp_of(body);
    out->receipts[out->n++] = receipt;
    return true;
}

enum err bench_reply_received(struct bytes body, struct arena *arena, struct bench_received *out)
{
    struct bench_received got = {.n = 0};
    struct bytes key;
    struct json p;
    bool sound = true;
    json_init(&p, body, arena);
    json_enter_object(&p);
    while (json_next_member(&p, &key)) {
        if (!bytes_equal(key, BYTES_OF("Messages")) || json_read_null(&p))
            continue;
        json_enter_array(&p);
        while (json_next_element(&p))
            sound = message_read(&p, &got) && sound;
    }
    enum err e = json_finish(&p);
    if (e == ERR_OK && !sound)
        e = ERR_INVALID;
    if (e == ERR_OK)
        *out = got;
    return e;
}

/* A fault's members by their names, in the object that is due. */
static void fault_read(struct json *p, const char *code, const char *text, struct bench_fault *out)
{
    struct bytes key;
    json_enter_object(p);
    while (json_next_member(p, &key)) {
        if (bytes_equal(key, bytes_of_text(code)))
            json_read_string(p, &out->code);
        else if (bytes_equal(key, bytes_of_text(text)))
            json_read_string(p, &out->text);
    }
}

enum err bench_reply_failed(struct bytes body, struct arena *arena, size_t *failed,
                            struct bench_fault *first)
{
    struct bench_fault one = {BYTES_NONE, BYTES_NONE};
    struct bytes key;
    struct json p;
    size_t n = 0;
    json_init(&p, body, arena);
    json_enter_object(&p);
    while (json_next_member(&p, &key)) {
        if (!bytes_equal(key, BYTES_OF("Failed")) || json_read_null(&p))
            continue;
        json_enter_array(&p);
        for (; json_next_element(&p); n++)
            fault_read(&p, "Code", "Message", &one);
    }
    enum err e = json_finish(&p);
    if (e == ERR_OK) {
        *failed = n;
        *first = one;
    }
    return e;
}

enum err bench_reply_fault(struct bytes body, struct arena *arena, struct bench_fault *out)
{
    struct bench_fault fault = {BYTES_NONE, BYTES_NONE};
    struct json p;
    json_init(&p, body, arena);
    fault_read(&p, "__type", "message", &fault);
    enum err e = json_finish(&p);
    if (e != ERR_OK)
        return e;
    /* com.amazonaws.sqs#QueueDoesNotExist: the part behind the sign is the name. */
    const char *sign = fault.code.n == 0 ? NULL : memrchr(fault.code.at, '#', fault.code.n);
    if (sign != NULL) {
        const char *end = (const char *)fault.code.at + fault.code.n;
        fault.code = (struct bytes){sign + 1, (size_t)(end - sign - 1)};
    }
    *out = fault;
    return ERR_OK;
}
