// SPDX-License-Identifier: Apache-2.0
/* What the checker holds possible of each message, in each topic where it was. Every fact is kept
 * twice: as it is now in the living broker, and as anything it may be after a crash (`all`): the
 * newest state that is durable for sure, and all that came after. */
#ifndef TESTS_SIM_BELIEFS_H
#define TESTS_SIM_BELIEFS_H

#include "sim/history.h"

enum { MAYBE_NO = 1, MAYBE_YES = 2, MAYBE_BOTH = 3 };

/* A message in one topic: where it was sent, or where it came as a dead letter. */
struct copy {
    uint32_t topic;
    uint32_t message;
    uint8_t there, there_all; /* MAYBE: it is stored and unfinished */
    int64_t low_ms, high_ms;  /* invisible until some time in between: a lease or a delay */
    int64_t low_all_ms, high_all_ms;
    uint32_t count_low, count_high; /* receives so far */
    uint32_t count_durable;
    uint32_t count_before; /* receives in the topic it came from */
    bool taken;            /* leased at some time, not only delayed */
    bool arrived;          /* a dead letter */
    uint32_t left_to;      /* seen as a dead letter there; HISTORY_NONE */
    uint32_t last_take;    /* op; HISTORY_NONE */
    uint32_t last_take_life;
    uint32_t last_op;  /* that changed anything ... */
    bool answer_binds; /* ... and once it is answered, the change is durable */
    int64_t expires_ms;
    uint32_t next; /* the message's next copy; HISTORY_NONE */
};

struct message {
    struct event sent;
    bool accepted;            /* neither refused nor a duplicate */
    bool durable;             /* for sure */
    uint8_t known, known_all; /* MAYBE: its deduplication id is remembered */
    uint32_t last_op;         /* that changed `known` */
    uint32_t duplicate_op;    /* the newest one that was told of it; HISTORY_NONE */
    bool finish_tried;        /* a delete or purge was decided at some time */
    uint32_t life;
    uint32_t copies; /* the first is where it was sent; HISTORY_NONE */
};

struct incarnation {
    struct policy policy;
    bool gone;
    bool maybe_gone;                /* a delete was tried, and nobody knows */
    int64_t setting, setting_tried; /* as answered; and one of which nobody knows */
    bool swept; /* purged or deleted at some time: dead letters may have vanished unseen */
    bool feeds; /* has a dead-letter topic, or is one */
};

struct beliefs {
    struct message *messages; /* by serial number */
    size_t messages_n;
    struct copy *copies;
    size_t copies_n;
    struct incarnation *topics;
    size_t topics_n;
    uint32_t life;
    int64_t now_max_ms; /* the latest it ever was */
};

void beliefs_fini(struct beliefs *b);
struct message *beliefs_message(struct beliefs *b, uint32_t serial); /* made when new */
struct incarnation *beliefs_topic(struct beliefs *b, uint32_t topic);
/* NULL: the message was never there. */
struct copy *beliefs_copy(struct beliefs *b, uint32_t message, uint32_t topic);
struct copy *beliefs_copy_add(struct beliefs *b, uint32_t message, uint32_t topic);

/* All that was decided is durable. */
void beliefs_synced(struct beliefs *b);
/* What `op` decided is durable. */
void beliefs_answered(struct beliefs *b, uint32_t op);
void beliefs_crashed(struct beliefs *b);

/* The copy is, or is not, there: it was decided just now. */
void copy_decide(struct copy *c, uint8_t there, uint32_t op);
/* It was seen: the log says so, whatever was unknown before. */
void copy_see(struct copy *c, uint8_t there);
void copy_lease(struct copy *c, int64_t until_ms, uint32_t op, bool answer_binds);
/* Its lease may have ended. */
void copy_may_end(struct copy *c, int64_t now_ms);

/* It is stored, unfinished and unexpired, and on no way to another topic. */
bool copy_is_sure(const struct beliefs *b, const struct copy *c);
/* Its receives may be used up, so that the next receive makes it a dead letter. */
bool copy_may_move(const struct beliefs *b, const struct copy *c);

#endif
