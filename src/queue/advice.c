// SPDX-License-Identifier: Apache-2.0
/* Settings that are allowed and yet will surprise somebody: told in the operator's log when they
 * come about, and shown for as long as they last. */
#include <string.h>

#include "base/note.h"
#include "queue/state.h"

/* A standard dead letter keeps its age (SQS developer guide, "dead-letter queues"), so it may
 * expire as soon as it arrives. On FIFO the age begins anew. */
static bool expires_early(const struct topic_config *dead, const struct topic_config *source)
{
    return !source->fifo && dead->retention_ms <= source->retention_ms;
}

static unsigned dead_letter_warnings(struct queue *q, const struct topic_config *source)
{
    struct queue_topic *dead;
    if (source->receives_max == 0 || source->dead_letter[0] == 0)
        return 0;
    if (queue_topic_find(q, bytes_of_text(source->dead_letter), &dead) != ERR_OK)
        return QUEUE_WARNING_DEAD_LETTER_MISSING;
    bool early = expires_early(queue_topic_config(dead), source);
    queue_topic_give_back(dead);
    return early ? QUEUE_WARNING_DEAD_LETTER_RETENTION : 0;
}

/* While a message is still being tried, a producer that sends it again is no longer recognised. */
static bool outlives_dedup(const struct topic_config *t)
{
    return t->fifo && t->receives_max > 0 && t->visibility_ms * (int64_t)t->receives_max > DEDUP_MS;
}

unsigned queue_topic_warnings(struct queue_topic *t)
{
    const struct topic_config *config = queue_topic_config(t);
    return dead_letter_warnings(t->q, config) |
           (outlives_dedup(config) ? QUEUE_WARNING_DEDUPLICATION_WINDOW : 0u);
}

static void tell(struct queue_topic *t, unsigned warnings)
{
    const struct topic_config *config = queue_topic_config(t);
    if (warnings & QUEUE_WARNING_DEAD_LETTER_RETENTION)
        note(NOTE_WARNING, "queue",
             "topic %s: its dead-letter topic %s does not keep messages longer than it does, so "
             "dead letters may expire when they arrive",
             t->name, config->dead_letter);
    if (warnings & QUEUE_WARNING_DEAD_LETTER_MISSING)
        note(NOTE_WARNING, "queue",
             "topic %s: its dead-letter topic %s is not there, so messages that have used up their "
             "receives are delivered on",
             t->name, config->dead_letter);
    if (warnings & QUEUE_WARNING_DEDUPLICATION_WINDOW)
        note(NOTE_WARNING, "queue",
             "topic %s: a message may be tried for longer (visibility x receives) than the 5 "
             "minutes for which duplicates are recognised",
             t->name);
}

static void tell_sources(struct queue_topic *dead, unsigned warnings)
{
    size_t n;
    struct queue_topic **topics = topics_lend(dead->q, &n);
    for (size_t i = 0; i < n; i++) {
        const struct topic_config *config = queue_topic_config(topics[i]);
        if (config->receives_max > 0 && strcmp(config->dead_letter, dead->name) == 0)
            tell(topics[i], queue_topic_warnings(topics[i]) & warnings);
    }
    topics_give_back(topics, n);
}

void advice_after_change(struct queue_topic *t, unsigned warnings_before, int64_t retention_before)
{
    tell(t, queue_topic_warnings(t) & ~warnings_before);
    if (queue_topic_config(t)->retention_ms < retention_before)
        tell_sources(t, QUEUE_WARNING_DEAD_LETTER_RETENTION);
}

void advice_after_delete(struct queue_topic *t)
{
    tell_sources(t, QUEUE_WARNING_DEAD_LETTER_MISSING);
}
