// SPDX-License-Identifier: Apache-2.0
#include "route_stage.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "queue/spread.h"

struct stage stage;

/* ---- http ---- */

static struct http_request *request_new(void)
{
    for (size_t i = 0; i < REQUESTS_MAX; i++) {
        struct http_request *r = &stage.requests[i];
        if (r->used)
            continue;
        *r = (struct http_request){.used = true, .arrived_boot_ms = stage.clock.boot_ms};
        arena_init(&r->arena, NULL, 0);
        return r;
    }
    UNREACHABLE();
}

void http_on_finish(struct http_request *r, void (*f)(void *self, bool written), void *self)
{
    r->on_finish = f;
    r->on_finish_self = self;
}

void http_park(struct http_request *r, http_handler *on_wake, void *self, int64_t wake_boot_ms,
               bool poll)
{
    CHECK(r->on_wake == NULL && !r->replied && poll == (wake_boot_ms > 0));
    r->on_wake = on_wake;
    r->self = self;
    r->wake_boot_ms = wake_boot_ms;
}

void http_wake(struct http_request *r)
{
    r->woken = true;
}

void http_hold(struct http_request *r)
{
    r->holds++;
}

void http_let_go(struct http_request *r)
{
    CHECK(r->holds-- > 0);
}

bool http_peer_gone(struct http_request *r)
{
    return r->gone;
}

struct http_server *http_server_of(struct http_request *r)
{
    return (struct http_server *)r;
}

bool http_stopping(const struct http_server *s)
{
    (void)s;
    return false;
}

struct arena *http_arena(struct http_request *r)
{
    return &r->arena;
}

struct bytes http_body(const struct http_request *r)
{
    return r->body;
}

int64_t http_arrived_boot_ms(const struct http_request *r)
{
    return r->arrived_boot_ms;
}

void http_reply(struct http_request *r, int status, const struct http_answer_header *headers,
                size_t headers_n, struct buf *body)
{
    (void)headers, (void)headers_n;
    CHECK(!r->replied);
    r->replied = true;
    r->status = status;
    r->answer = *body;
    *body = BUF_EMPTY;
}

static void request_finish(struct http_request *r, bool written)
{
    if (r->on_finish != NULL)
        r->on_finish(r->on_finish_self, written);
    r->on_finish = NULL;
}

void turn(void)
{
    for (bool any = true; any;) {
        any = false;
        for (size_t i = 0; i < REQUESTS_MAX; i++) {
            struct http_request *r = &stage.requests[i];
            bool due = r->wake_boot_ms > 0 && stage.clock.boot_ms >= r->wake_boot_ms;
            if (r->on_wake == NULL || !(r->woken || due))
                continue;
            http_handler *on_wake = r->on_wake;
            r->on_wake = NULL;
            r->woken = false;
            any = true;
            on_wake(r->self, r);
        }
    }
}

void pass(int64_t ms)
{
    fake_clock_pass(&stage.clock, ms);
    turn();
}

/* ---- peer ---- */

struct peer_call *peer_post(struct peer *p, uint32_t to, const char *url, const char *path,
                            struct bytes body, int64_t deadline_ms, struct peer_call_done done)
{
    struct letter *l = &stage.letters[stage.letters_n++];
    CHECK(stage.letters_n <= LETTERS_MAX && deadline_ms > 0 && url[0] == 'u');
    *l = (struct letter){
        .from = p->broker, .to = to, .path = path, .deadline_ms = deadline_ms, .done = done};
    buf_put_bytes(&l->body, body);
    return NULL;
}

void peer_reply(struct peer *p, struct http_request *r, int status, struct buf *body)
{
    (void)p;
    http_reply(r, status, NULL, 0, body);
}

size_t letters_open(void)
{
    size_t n = 0;
    for (size_t i = 0; i < stage.letters_n; i++)
        n += !stage.letters[i].over;
    return n;
}

struct letter *letter_open(size_t i)
{
    for (size_t k = 0; k < stage.letters_n; k++)
        if (!stage.letters[k].over && i-- == 0)
            return &stage.letters[k];
    ck_abort_msg("there is no such letter");
}

void letter_deliver(struct letter *l)
{
    struct peer_route routes[ROUTE_ROUTES];
    if (l->served != NULL)
        return;
    l->served = request_new();
    l->served->body = buf_bytes(&l->body);
    l->served->gone = l->gone;
    route_routes(stage.routes[l->to], routes);
    for (int i = 0; i < ROUTE_ROUTES; i++)
        if (strcmp(routes[i].path, l->path) == 0)
            routes[i].handler(routes[i].self, l->served, l->from);
    turn();
}

static void letter_end(struct letter *l, enum err e, int status, struct bytes body)
{
    l->over = true;
    l->done.done(l->done.self, e, status, body);
    turn();
}

void letter_carry(struct letter *l)
{
    letter_deliver(l);
    if (!l->served->replied)
        return;
    request_finish(l->served, true);
    letter_end(l, ERR_OK, l->served->status, buf_bytes(&l->served->answer));
}

void letter_vanish(struct letter *l)
{
    letter_end(l, ERR_BUSY, 0, BYTES_NONE);
}

void letter_lose(struct letter *l)
{
    letter_deliver(l);
    request_finish(l->served, true);
    letter_vanish(l);
}

void letter_answer(struct letter *l, struct buf *body)
{
    letter_end(l, ERR_OK, 200, buf_bytes(body));
    buf_fini(body);
}

void letter_refuse(struct letter *l)
{
    letter_end(l, ERR_REFUSED, 0, BYTES_NONE);
}

void carry_all(void)
{
    for (bool any = true; any;) {
        any = false;
        for (size_t i = 0; i < stage.letters_n; i++) {
            struct letter *l = &stage.letters[i];
            if (l->over)
                continue;
            letter_carry(l);
            any = any || l->over;
        }
    }
}

static bool url(void *self, uint32_t broker, char out[PEER_URL_BYTES_MAX + 1])
{
    (void)self;
    snprintf(out, PEER_URL_BYTES_MAX, "url%u", broker);
    return true;
}

/* ---- queue: a receipt is "p-n" ---- */

static void mark(struct queue_wait *w)
{
    w->marks_n = 1;
}

bool queue_wait_start(struct queue_wait *w)
{
    if (!stage.hold_commits || w->marks_n == 0)
        return false;
    stage.waits[stage.waits_n++] = w;
    return true;
}

void commit(void)
{
    size_t n = stage.waits_n;
    stage.waits_n = 0;
    for (size_t i = 0; i < n; i++)
        stage.waits[i]->ready(stage.waits[i]);
    turn();
}

bool queue_copy_is_ours(struct queue_topic *t, uint32_t partition)
{
    bool ours = stage.leader[partition] == t->broker;
    if (stage.looked != NULL)
        stage.looked();
    return ours;
}

uint32_t queue_copy_leader(struct queue_topic *t, uint32_t partition)
{
    uint32_t leader = t->believed[partition];
    if (stage.looked != NULL)
        stage.looked();
    return leader;
}

enum err queue_move_take(struct queue_topic *t, const struct queue_move *m, struct queue_wait *w)
{
    if (stage.leader[m->partition] != t->broker)
        return ERR_NOT_LEADER;
    stage.moves++;
    ck_assert(bytes_equal(m->message, BYTES_OF("a message")));
    ck_assert(m->age_ms == 5 && m->source_epoch == 7);
    mark(w);
    return ERR_OK;
}

uint32_t queue_partitions(struct queue_topic *t)
{
    (void)t;
    return PARTITIONS;
}

const struct topic_config *queue_topic_config(struct queue_topic *t)
{
    return &t->config;
}

enum err queue_topic_find_id(struct queue *q, const uint8_t id[16], struct queue_topic **out)
{
    struct queue_topic *t = &stage.topics[q->broker];
    if (memcmp(id, t->config.id, 16) != 0)
        return ERR_NOT_FOUND;
    t->refs++;
    *out = t;
    return ERR_OK;
}

void queue_topic_give_back(struct queue_topic *t)
{
    CHECK(t->refs-- > 0);
}

/* The key's first digit is the partition. */
void queue_send_places(struct queue_topic *t, const struct queue_message *messages, size_t n,
                       uint32_t *partitions)
{
    uint32_t any = 0;
    for (uint32_t p = PARTITIONS; p-- > 0;)
        if (t->believed[p] != 0)
            any = p;
    for (uint32_t p = PARTITIONS; p-- > 0;)
        if (queue_copy_is_ours(t, p))
            any = p;
    for (size_t i = 0; i < n; i++)
        partitions[i] =
            messages[i].key.n == 0 ? any : (uint32_t)(*(const char *)messages[i].key.at - '0');
}

void store(uint32_t partition, const char *body, enum stored_state state)
{
    struct stored *s = &stage.at[partition][stage.n[partition]++];
    snprintf(s->body, sizeof s->body, "%s", body);
    s->state = state;
}

size_t stored_in_state(enum stored_state state)
{
    size_t n = 0;
    for (int p = 0; p < PARTITIONS; p++)
        for (size_t i = 0; i < stage.n[p]; i++)
            n += stage.at[p][i].state == state;
    return n;
}

/* Where a send was stored; the next number: nowhere. */
static uint64_t number_of(uint32_t partition, const struct queue_repeat *key)
{
    for (size_t i = 0; key != NULL && i < stage.n[partition]; i++) {
        const struct queue_repeat *r = &stage.at[partition][i].repeat;
        if (r->front == key->front && r->life == key->life && r->sequence == key->sequence)
            return i;
    }
    return stage.n[partition];
}

void queue_send_to(struct queue_topic *t, const struct queue_message *messages,
                   const uint32_t *partitions, size_t n, struct queue_sent *sent, enum err *errs,
                   struct queue_wait *w)
{
    for (size_t i = 0; i < n; i++) {
        char body[32];
        uint32_t p = partitions[i];
        errs[i] = queue_copy_is_ours(t, p) ? stage.refuses_sends : ERR_NOT_LEADER;
        if (errs[i] != ERR_OK)
            continue;
        mark(w);
        sent[i] = (struct queue_sent){.partition = p, .number = number_of(p, messages[i].repeat)};
        if (sent[i].number < stage.n[p])
            continue;
        snprintf(body, sizeof body, "%.*s", (int)messages[i].body.n,
                 (const char *)messages[i].body.at);
        store(p, body, STORED_READY);
        if (messages[i].repeat != NULL)
            stage.at[p][sent[i].number].repeat = *messages[i].repeat;
    }
}

static struct stored *stored_of(struct bytes receipt, uint32_t *partition)
{
    const char *at = receipt.at;
    if (receipt.n < 3 || at[1] != '-' || at[0] < '0' || at[0] >= '0' + PARTITIONS)
        return NULL;
    *partition = (uint32_t)(at[0] - '0');
    return &stage.at[*partition][at[2] - '0'];
}

enum err queue_receipt_place(struct queue_topic *t, struct bytes receipt, bool strict,
                             uint32_t *partition)
{
    (void)t, (void)strict;
    return stored_of(receipt, partition) == NULL ? ERR_INVALID : ERR_OK;
}

static enum err end_lease(struct queue_topic *t, struct bytes receipt, enum stored_state state,
                          struct queue_wait *w)
{
    uint32_t p;
    struct stored *s = stored_of(receipt, &p);
    if (s == NULL)
        return ERR_INVALID;
    if (!queue_copy_is_ours(t, p))
        return ERR_NOT_LEADER;
    if (stage.is_unready)
        return ERR_NOT_READY;
    mark(w);
    if (s->state == STORED_SPENT && state == STORED_LEASED)
        return ERR_FULL;
    if (s->state != STORED_LEASED)
        return s->state == STORED_DELETED ? ERR_GONE : ERR_LEASE_EXPIRED;
    s->state = state;
    return ERR_OK;
}

void queue_delete_many(struct queue_topic *t, const struct bytes *receipts, size_t n, bool strict,
                       enum err *errs, struct queue_wait *w)
{
    (void)strict;
    for (size_t i = 0; i < n; i++)
        errs[i] = end_lease(t, receipts[i], STORED_DELETED, w);
}

enum err queue_extend(struct queue_topic *t, struct bytes receipt, int64_t visibility_ms,
                      bool strict, struct queue_wait *w)
{
    (void)strict;
    return end_lease(t, receipt, visibility_ms == 0 ? STORED_READY : STORED_LEASED, w);
}

enum err queue_receive_here(struct queue_topic *t, const struct queue_receive *request,
                            struct arena *arena, struct queue_received out[QUEUE_BATCH_MAX],
                            size_t *n, struct queue_wait *w)
{
    bool ours = false;
    *n = 0;
    t->receives++;
    for (uint32_t p = 0; p < PARTITIONS; p++) {
        ours = ours || queue_copy_is_ours(t, p);
        for (size_t i = 0; queue_copy_is_ours(t, p) && i < stage.n[p]; i++) {
            struct stored *s = &stage.at[p][i];
            if (s->state != STORED_READY || *n == request->max)
                continue;
            struct queue_received *m = &out[(*n)++];
            memset(m, 0, sizeof *m);
            m->body = arena_copy(arena, bytes_of_text(s->body));
            m->partition = p;
            m->number = i;
            snprintf(m->receipt, sizeof m->receipt, "%u-%zu", p, i);
            s->state = STORED_LEASED;
            mark(w);
        }
    }
    return ours ? ERR_OK : ERR_NOT_LEADER;
}

void queue_give_back(struct queue_topic *t, const struct queue_received *received, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t p;
        struct stored *s = stored_of(bytes_of_text(received[i].receipt), &p);
        if (s != NULL && queue_copy_is_ours(t, p) && s->state == STORED_LEASED)
            s->state = STORED_READY;
    }
}

enum err queue_purge_place(struct queue_topic *t, struct bytes group, uint32_t partition,
                           uint64_t *finished, struct queue_wait *w)
{
    (void)group;
    *finished = 0;
    if (!queue_copy_is_ours(t, partition))
        return ERR_NOT_LEADER;
    for (size_t i = 0; i < stage.n[partition]; i++) {
        *finished += stage.at[partition][i].state != STORED_DELETED;
        stage.at[partition][i].state = STORED_DELETED;
    }
    mark(w);
    return ERR_OK;
}

enum err queue_count_place(struct queue_topic *t, struct bytes group, uint32_t partition,
                           struct queue_counters *out, struct queue_wait *w)
{
    (void)group;
    if (!queue_copy_is_ours(t, partition))
        return ERR_NOT_LEADER;
    *out = (struct queue_counters){0};
    for (size_t i = 0; i < stage.n[partition]; i++) {
        out->visible += stage.at[partition][i].state == STORED_READY;
        out->in_flight += stage.at[partition][i].state == STORED_LEASED;
    }
    mark(w);
    return ERR_OK;
}

size_t queue_deliverable_here(struct queue_topic *t, struct bytes group, size_t limit)
{
    size_t n = 0;
    (void)group;
    for (uint32_t p = 0; p < PARTITIONS; p++)
        for (size_t i = 0; queue_copy_is_ours(t, p) && i < stage.n[p]; i++)
            n += stage.at[p][i].state == STORED_READY && n < limit;
    return n;
}

enum err queue_poll_start(struct queue_topic *t, struct bytes group, struct queue_poll *p,
                          void (*wake)(struct queue_poll *p))
{
    (void)group;
    p->topic = t;
    p->linked = true;
    p->wake = wake;
    t->polls[t->polls_n++] = p;
    return ERR_OK;
}

bool queue_poll_again(struct queue_poll *p)
{
    CHECK(p->linked);
    return false;
}

void queue_poll_end(struct queue_poll *p, bool passes_on)
{
    struct queue_topic *t = p->topic;
    (void)passes_on;
    CHECK(p->linked);
    p->linked = false;
    for (size_t i = 0; i < t->polls_n; i++)
        if (t->polls[i] == p)
            t->polls[i] = t->polls[--t->polls_n];
}

void polls_wake(uint32_t broker)
{
    struct queue_topic *t = &stage.topics[broker];
    for (size_t i = 0; i < t->polls_n; i++)
        t->polls[i]->wake(t->polls[i]);
    turn();
}

/* What only a broker that is alone calls. */
void queue_send(struct queue_topic *t, const struct queue_message *messages, size_t n,
                struct queue_sent *sent, enum err *errs, struct queue_wait *w)
{
    (void)t, (void)messages, (void)n, (void)sent, (void)errs, (void)w;
    UNREACHABLE();
}

enum err queue_receive(struct queue_topic *t, const struct queue_receive *request,
                       struct arena *arena, struct queue_received out[QUEUE_BATCH_MAX], size_t *n,
                       struct queue_wait *w)
{
    (void)t, (void)request, (void)arena, (void)out, (void)n, (void)w;
    UNREACHABLE();
}

enum err queue_purge_group(struct queue_topic *t, struct bytes group, uint64_t *finished,
                           struct queue_wait *w)
{
    (void)t, (void)group, (void)finished, (void)w;
    UNREACHABLE();
}

enum err queue_count(struct queue_topic *t, struct bytes group, struct queue_counters *out)
{
    (void)t, (void)group, (void)out;
    UNREACHABLE();
}

void queue_wait_topic(struct queue_topic *t, struct queue_wait *w)
{
    (void)t, (void)w;
    UNREACHABLE();
}

enum err queue_run(struct queue *q, struct queue_job *job)
{
    (void)q, (void)job;
    UNREACHABLE();
}

/* ---- brokers and clients ---- */

void lead(uint32_t p0, uint32_t p1, uint32_t p2, uint32_t p3)
{
    const uint32_t all[PARTITIONS] = {p0, p1, p2, p3};
    memcpy(stage.leader, all, sizeof all);
    for (int b = 1; b <= BROKERS; b++)
        memcpy(stage.topics[b].believed, all, sizeof all);
}

void move(uint32_t partition, uint32_t broker)
{
    stage.leader[partition] = broker;
}

void believe(uint32_t broker, uint32_t partition, uint32_t leader)
{
    stage.topics[broker].believed[partition] = leader;
}

void stage_setup(void)
{
    memset(&stage, 0, sizeof stage);
    fake_clock_init(&stage.clock);
    for (uint32_t b = 1; b <= BROKERS; b++) {
        stage.topics[b].broker = stage.queues[b].broker = stage.peers[b].broker = b;
        memset(stage.topics[b].config.id, 7, sizeof stage.topics[b].config.id);
        struct route_options o = {.broker = b, .clock = &stage.clock.clock, .url = url};
        stage.routes[b] = route_new(&o);
        route_begin(stage.routes[b], &stage.peers[b], &stage.queues[b], 1000 + b);
    }
    lead(1, 2, 3, 2);
}

/* Every request is given up, every letter comes back, and nobody may hold anything after that. */
void stage_teardown(void)
{
    for (size_t i = 0; i < REQUESTS_MAX; i++)
        if (stage.requests[i].used)
            request_finish(&stage.requests[i], false);
    for (size_t i = 0; i < stage.letters_n; i++)
        if (!stage.letters[i].over) {
            stage.letters[i].over = true;
            stage.letters[i].done.done(stage.letters[i].done.self, ERR_STOPPING, 0, BYTES_NONE);
        }
    for (size_t i = 0; i < stage.waits_n; i++)
        stage.waits[i]->ready(stage.waits[i]);
    for (size_t i = 0; i < stage.letters_n; i++)
        buf_fini(&stage.letters[i].body);
    for (size_t i = 0; i < REQUESTS_MAX; i++) {
        ck_assert_int_eq(stage.requests[i].holds, 0);
        buf_fini(&stage.requests[i].answer);
        arena_fini(&stage.requests[i].arena);
    }
    for (int b = 1; b <= BROKERS; b++) {
        ck_assert_int_eq(stage.topics[b].refs, 0);
        ck_assert_uint_eq(stage.topics[b].polls_n, 0);
        route_free(stage.routes[b]);
    }
}

static void refuse(struct front_call *call, enum err e)
{
    struct client *c = CONTAINER_OF(call, struct client, call);
    c->answered = true;
    c->refused = e;
}

static void end(struct front_call *call)
{
    (void)call;
}

struct client *client_new(void)
{
    static const struct front_call_kind kind = {refuse, end};
    struct http_request *r = request_new();
    struct client *c = arena_zeros(&r->arena, sizeof *c);
    c->http = r;
    front_call_init(&c->call, &kind, r);
    c->call.links = route_links(stage.routes[1]);
    return c;
}

void client_next(struct front_call *call)
{
    struct client *c = CONTAINER_OF(call, struct client, call);
    ck_assert(!c->answered);
    c->answered = true;
}

void client_finish(struct client *c, bool written)
{
    request_finish(c->http, written);
}

static void poll_answer(struct front_poll *p)
{
    client_next(p->call);
}

static void poll_refuse(struct front_poll *p, enum err e)
{
    refuse(p->call, e);
}

void client_poll(struct client *c, size_t max, int64_t wait_ms)
{
    c->poll.call = &c->call;
    c->poll.topic = &stage.topics[1];
    c->poll.wait = &c->wait;
    c->poll.clock = &stage.clock.clock;
    c->poll.request = (struct queue_receive){.max = max, .visibility_ms = -1};
    c->poll.wait_ms = wait_ms;
    c->poll.answer = poll_answer;
    c->poll.refuse = poll_refuse;
    front_poll_run(&c->poll);
    turn();
}
