// SPDX-License-Identifier: Apache-2.0
/* The forms of what brokers send each other (WIRE.md fixes the bytes). Every decoder takes bytes
 * from outside: it is bounded and answers ERR_CORRUPT. Little endian, fixed layouts, as the log's.
 */
#ifndef PEER_WIRE_H
#define PEER_WIRE_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/err.h"
#include "replica/fetch.h"
#include "replica/key.h"
#include "replica/replica.h"

enum { WIRE_PARTS_MAX = 4096 };

/* Names a partition of the cluster. */
struct wire_partition {
    uint8_t topic[16];
    uint32_t partition;
};

/* ---- fetch: POST /_r/v1/fetch ---- */

struct wire_fetch_part {
    struct wire_partition of;
    struct replica_fetch request;
};
struct wire_fetch {
    uint32_t wait_ms;   /* park for so long when nothing is new */
    uint32_t bytes_max; /* of batches in the answer, though one batch is sent at least */
    size_t parts_n;
    struct wire_fetch_part *parts; /* decoded: owned, freed with wire_fetch_fini */
};
void wire_fetch_encode(const struct wire_fetch *f, struct buf *out);
enum err wire_fetch_decode(struct bytes b, struct wire_fetch *out) MUST_USE;
void wire_fetch_fini(struct wire_fetch *f);

struct wire_answer_part {
    struct wire_partition of;
    struct replica_answer answer;
    struct bytes batches; /* raw batches; decoded: lent from the body */
};
void wire_answer_begin(struct buf *out);
/* Parts follow one another; the batches are copied. */
void wire_answer_put(struct buf *out, const struct wire_answer_part *part);
/* The same for batches that are read straight into `out`: all that is appended to it between the
 * two calls. What part_begin returns goes to part_end. */
size_t wire_answer_part_begin(struct buf *out, const struct wire_partition *of,
                              const struct replica_answer *answer);
void wire_answer_part_end(struct buf *out, size_t begin);
/* Takes the next part off `rest`; the first call takes the head too (`*head` false before it).
 * ERR_NOT_FOUND: the end. */
enum err wire_answer_next(struct bytes *rest, bool *head, struct wire_answer_part *out) MUST_USE;

/* ---- state: POST /_r/v1/state, what the controller asks before an election ---- */

struct wire_state_part {
    struct wire_partition of;
    bool is_there;
    struct replica_status status;
};
/* What a decoder hands out belongs to the caller (mem_free), also when n is 0. */
void wire_state_ask_encode(const struct wire_partition *of, size_t n, struct buf *out);
enum err wire_state_ask_decode(struct bytes b, struct wire_partition **of, size_t *n) MUST_USE;
void wire_state_encode(const struct wire_state_part *parts, size_t n, struct buf *out);
enum err wire_state_decode(struct bytes b, struct wire_state_part **parts, size_t *n) MUST_USE;

/* ---- snapshot: POST /_r/v1/snapshot; the answer's body is what queue_copy_snapshot_read gives
 * ---- */

void wire_snapshot_ask_encode(const struct wire_partition *of, uint64_t epoch, struct buf *out);
enum err wire_snapshot_ask_decode(struct bytes b, struct wire_partition *of,
                                  uint64_t *epoch) MUST_USE;

/* ---- silent: POST /_r/v1/silent, "that broker does not answer me"; the answer is empty ---- */

void wire_silent_encode(uint32_t broker, int64_t session, struct buf *out);
enum err wire_silent_decode(struct bytes b, uint32_t *broker, int64_t *session) MUST_USE;

#endif
