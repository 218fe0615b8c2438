// SPDX-License-Identifier: Apache-2.0
/* What brokers send each other (peer/wire.h), and the header that says who sends it (peer/sign.h).
 *
 * Input: a byte that chooses the form; another, odd: the magic is put right; then the bytes.
 * Contract: refused, or written anew as the same bytes. */
#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "peer/layout.h"
#include "peer/sign.h"

static void on_fetch(struct bytes b, struct buf *anew)
{
    struct wire_fetch f;
    if (wire_fetch_decode(b, &f) != ERR_OK)
        return;
    CHECK(f.parts_n <= WIRE_PARTS_MAX);
    wire_fetch_encode(&f, anew);
    wire_fetch_fini(&f);
}

/* Parts before one that is bad were handed out, so the answer is written anew only as a whole. */
static void on_answer(struct bytes b, struct buf *anew)
{
    struct wire_answer_part part;
    bool head = false;
    enum err e;
    size_t before = b.n;
    wire_answer_begin(anew);
    while ((e = wire_answer_next(&b, &head, &part)) == ERR_OK) {
        CHECK(b.n < before);
        before = b.n;
        wire_answer_put(anew, &part);
    }
    CHECK(e == ERR_CORRUPT || (e == ERR_NOT_FOUND && b.n == 0));
    if (e == ERR_CORRUPT)
        buf_clear(anew);
}

static void on_ask(struct bytes b, struct buf *anew)
{
    struct wire_partition *of;
    size_t n;
    if (wire_state_ask_decode(b, &of, &n) != ERR_OK)
        return;
    wire_state_ask_encode(of, n, anew);
    mem_free(of);
}

/* A partition that is not there has no state: what stands in its place is not written anew. */
static void on_state(struct bytes b, struct buf *anew)
{
    struct wire_state_part *parts;
    size_t n;
    bool all_there = true;
    if (wire_state_decode(b, &parts, &n) != ERR_OK)
        return;
    for (size_t i = 0; i < n; i++)
        all_there = all_there && parts[i].is_there;
    wire_state_encode(parts, n, anew);
    CHECK(anew->n == b.n);
    if (!all_there)
        buf_clear(anew);
    mem_free(parts);
}

static void on_snapshot_ask(struct bytes b, struct buf *anew)
{
    struct wire_partition of;
    uint64_t epoch;
    if (wire_snapshot_ask_decode(b, &of, &epoch) == ERR_OK)
        wire_snapshot_ask_encode(&of, epoch, anew);
}

static void on_silent(struct bytes b, struct buf *anew)
{
    uint32_t broker;
    int64_t session;
    if (wire_silent_decode(b, &broker, &session) == ERR_OK)
        wire_silent_encode(broker, session, anew);
}

/* Hexadecimal digits are read in both cases. */
static void on_head(struct bytes b, struct buf *anew)
{
    struct sign_head h, again;
    if (sign_head_parse(b, &h) != SIGN_PARSED)
        return;
    sign_head_put(anew, &h);
    CHECK(sign_head_parse(buf_bytes(anew), &again) == SIGN_PARSED);
    CHECK(again.from == h.from && again.to == h.to && again.wall_ms == h.wall_ms);
    CHECK(again.nonce.process == h.nonce.process && again.nonce.count == h.nonce.count);
    CHECK(bytes_equal(again.cluster, h.cluster) && anew->n == b.n);
    buf_clear(anew);
}

static const struct {
    void (*play)(struct bytes b, struct buf *anew);
    char letter;
} forms[] = {
    {on_fetch, 'F'},        {on_answer, 'A'}, {on_ask, 'S'},    {on_state, 'T'},
    {on_snapshot_ask, 'N'}, {on_head, 0},     {on_silent, 'U'},
};

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    struct cursor c = fuzz_input(at, n);
    size_t form = fuzz_choice(&c, sizeof forms / sizeof forms[0]);
    bool put_right = cursor_u8(&c) % 2 == 1;
    struct buf b = BUF_EMPTY, anew = BUF_EMPTY;
    buf_put_bytes(&b, fuzz_rest(&c));
    if (put_right && forms[form].letter != 0 && b.n >= 4) {
        const char magic[4] = {'L', 'Q', forms[form].letter, PEER_WIRE_VERSION};
        memcpy(b.at, magic, sizeof magic);
    }
    forms[form].play(buf_bytes(&b), &anew);
    if (anew.n > 0)
        CHECK(bytes_equal(buf_bytes(&anew), buf_bytes(&b)));
    buf_fini(&anew);
    buf_fini(&b);
    return 0;
}
