// SPDX-License-Identifier: Apache-2.0
/* The room front alone: http and queue are played by this file, so that a test decides in which
 * order things come. There is one request, one loop (turn) and one thread. */
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "front/poll.h"
#include "front/rules.h"
#include "lib/fake_clock.h"
#include "lib/runner.h"
#include "queue/spread.h"

/* ---- the stage ---- */

struct http_request {
    /* What it is parked with; NULL: it runs. */
    http_handler *on_wake;
    void *self;
    int64_t wake_boot_ms;
    bool woken, gone, stopping;
    int holds;
    void (*on_finish)(void *self, bool written);
    void *on_finish_self;
    struct arena arena;
};

struct stage {
    struct fake_clock clock;
    struct http_request request;
    char log[200]; /* words: what happened, in order */
    enum err refused;

    bool durable;               /* whether commits are there when they are asked for */
    struct queue_wait *waiting; /* for a commit that isn't */
    enum err run_err;
    struct queue_job *job;

    struct topic_config config;
    enum err receive_err, poll_err;
    size_t ready; /* messages that the next receive finds */
    int receives, given_back;
    struct queue_poll *poll; /* registered */
    bool passed_on;          /* by the poll that ended */
    bool came_between;       /* what queue_poll_again answers, once */
};
static struct stage stage;

struct call {
    struct front_call front;
    struct queue_wait wait;
    struct front_poll poll;
};
static struct call call;

static void tell(const char *word)
{
    size_t n = strlen(stage.log);
    snprintf(stage.log + n, sizeof stage.log - n, "%s%s", n > 0 ? " " : "", word);
}

/* What the loop does for a request: it goes on when it was woken, or when its time has come. */
static void turn(void)
{
    struct http_request *r = &stage.request;
    while (r->on_wake != NULL &&
           (r->woken || (r->wake_boot_ms > 0 && stage.clock.boot_ms >= r->wake_boot_ms))) {
        http_handler *on_wake = r->on_wake;
        r->on_wake = NULL;
        r->woken = false;
        on_wake(r->self, r);
    }
}

static void commit(enum err e)
{
    struct queue_wait *w = stage.waiting;
    CHECK(w != NULL);
    stage.waiting = NULL;
    w->err = e;
    w->ready(w);
    turn();
}

static void run_job(void)
{
    struct queue_job *job = stage.job;
    CHECK(job != NULL);
    stage.job = NULL;
    job->run(job);
}

static void finish(bool written)
{
    stage.request.on_finish(stage.request.on_finish_self, written);
}

/* ---- http, as far as it is used ---- */

void http_on_finish(struct http_request *r, void (*f)(void *self, bool written), void *self)
{
    r->on_finish = f;
    r->on_finish_self = self;
}

void http_park(struct http_request *r, http_handler *on_wake, void *self, int64_t wake_boot_ms,
               bool poll)
{
    CHECK(r->on_wake == NULL && poll == (wake_boot_ms > 0));
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
    r->holds--;
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
    return ((const struct http_request *)s)->stopping;
}

struct arena *http_arena(struct http_request *r)
{
    return &r->arena;
}

int64_t http_arrived_boot_ms(const struct http_request *r)
{
    (void)r;
    return stage.clock.boot_ms;
}

/* ---- queue, as far as it is used ---- */

bool queue_wait_start(struct queue_wait *w)
{
    if (!stage.durable)
        stage.waiting = w;
    return !stage.durable;
}

enum err queue_run(struct queue *q, struct queue_job *job)
{
    (void)q;
    if (stage.run_err == ERR_OK)
        stage.job = job;
    return stage.run_err;
}

const struct topic_config *queue_topic_config(struct queue_topic *t)
{
    (void)t;
    return &stage.config;
}

enum err queue_receive(struct queue_topic *t, const struct queue_receive *request,
                       struct arena *arena, struct queue_received out[QUEUE_BATCH_MAX], size_t *n,
                       struct queue_wait *w)
{
    (void)t, (void)request, (void)arena, (void)out, (void)w;
    stage.receives++;
    if (stage.receive_err == ERR_OK)
        *n = stage.ready;
    return stage.receive_err;
}

/* Never called by a broker that is alone. */
enum err queue_receive_here(struct queue_topic *t, const struct queue_receive *request,
                            struct arena *arena, struct queue_received out[QUEUE_BATCH_MAX],
                            size_t *n, struct queue_wait *w)
{
    (void)t, (void)request, (void)arena, (void)out, (void)n, (void)w;
    UNREACHABLE();
}

uint32_t queue_copy_leader(struct queue_topic *t, uint32_t partition)
{
    (void)t, (void)partition;
    UNREACHABLE();
}

uint32_t queue_partitions(struct queue_topic *t)
{
    (void)t;
    UNREACHABLE();
}

void queue_give_back(struct queue_topic *t, const struct queue_received *received, size_t n)
{
    (void)t, (void)received;
    stage.given_back += (int)n;
}

enum err queue_poll_start(struct queue_topic *t, struct bytes group, struct queue_poll *p,
                          void (*wake)(struct queue_poll *p))
{
    (void)t, (void)group;
    if (stage.poll_err == ERR_OK) {
        p->linked = true;
        p->wake = wake;
        stage.poll = p;
    }
    return stage.poll_err;
}

bool queue_poll_again(struct queue_poll *p)
{
    bool again = stage.came_between;
    CHECK(p->linked);
    stage.came_between = false;
    return again;
}

void queue_poll_end(struct queue_poll *p, bool passes_on)
{
    CHECK(p->linked);
    p->linked = false;
    stage.poll = NULL;
    stage.passed_on = passes_on;
}

/* ---- a front ---- */

static void refuse(struct front_call *c, enum err e)
{
    (void)c;
    tell("refuse");
    stage.refused = e;
}

static void end(struct front_call *c)
{
    (void)c;
    tell("end");
}

static void work(struct front_call *c)
{
    (void)c;
    tell("work");
}

static void next(struct front_call *c)
{
    (void)c;
    tell("next");
}

static void cleanup(struct front_call *c)
{
    (void)c;
    tell("cleanup");
}

static void answer(struct front_poll *p)
{
    ck_assert(!p->poll.linked);
    tell(p->n > 0 ? "messages" : "nothing");
}

static void refuse_poll(struct front_poll *p, enum err e)
{
    ck_assert(!p->poll.linked);
    refuse(p->call, e);
}

static void setup(void)
{
    static const struct front_call_kind kind = {refuse, end};
    stage = (struct stage){.durable = true, .config = {.visibility_ms = 30000}};
    fake_clock_init(&stage.clock);
    memset(&call, 0, sizeof call);
    front_call_init(&call.front, &kind, &stage.request);
    call.poll.call = &call.front;
    call.poll.wait = &call.wait;
    call.poll.clock = &stage.clock.clock;
    call.poll.request.visibility_ms = -1;
    call.poll.answer = answer;
    call.poll.refuse = refuse_poll;
}

static void teardown(void)
{
    arena_fini(&stage.request.arena);
}

static void poll_for(int64_t wait_ms)
{
    call.poll.wait_ms = wait_ms;
    front_poll_run(&call.poll);
}

static void pass(int64_t ms)
{
    fake_clock_pass(&stage.clock, ms);
    turn();
}

/* As queue does when something can be delivered. */
static void call_poll(void)
{
    stage.poll->wake(stage.poll);
    turn();
}

/* ---- waits ---- */

START_TEST(what_is_durable_already_goes_on_at_once)
{
    front_call_commit(&call.front, &call.wait, next);
    ck_assert_str_eq(stage.log, "next");
    ck_assert_int_eq(stage.request.holds, 0);
}
END_TEST

START_TEST(a_wait_holds_the_request_until_it_is_committed)
{
    stage.durable = false;
    front_call_commit(&call.front, &call.wait, next);
    turn();
    ck_assert_str_eq(stage.log, "");
    ck_assert_int_eq(stage.request.holds, 1);
    commit(ERR_OK);
    ck_assert_str_eq(stage.log, "next");
    ck_assert_int_eq(stage.request.holds, 0);
}
END_TEST

START_TEST(what_will_never_be_durable_is_refused)
{
    stage.durable = false;
    front_call_commit(&call.front, &call.wait, next);
    commit(ERR_FAILED);
    ck_assert_str_eq(stage.log, "refuse");
    ck_assert_int_eq(stage.refused, ERR_FAILED);
}
END_TEST

START_TEST(a_wake_of_something_else_ends_no_wait)
{
    stage.durable = false;
    front_call_commit(&call.front, &call.wait, next);
    http_wake(&stage.request);
    turn();
    ck_assert_str_eq(stage.log, "");
    commit(ERR_OK);
    ck_assert_str_eq(stage.log, "next");
}
END_TEST

START_TEST(a_second_wait_does_not_take_the_first_ones_end_for_its_own)
{
    stage.durable = false;
    front_call_commit(&call.front, &call.wait, next);
    commit(ERR_OK);
    front_call_commit(&call.front, &call.wait, next);
    http_wake(&stage.request);
    turn();
    ck_assert_str_eq(stage.log, "next");
}
END_TEST

START_TEST(after_a_job_the_loop_goes_on)
{
    front_call_run(&call.front, NULL, work, next);
    turn();
    ck_assert_str_eq(stage.log, "");
    run_job();
    ck_assert_str_eq(stage.log, "work");
    turn();
    ck_assert_str_eq(stage.log, "work next");
    ck_assert_int_eq(stage.request.holds, 0);
}
END_TEST

/* Its marks are still linked into the queue, so nobody may answer before a commit was waited for.
 */
START_TEST(a_job_whose_marks_have_failed_goes_on_all_the_same)
{
    front_call_commit(&call.front, &call.wait, next);
    front_call_run(&call.front, NULL, work, next);
    call.wait.err = ERR_FAILED;
    run_job();
    turn();
    ck_assert_str_eq(stage.log, "next work next");
}
END_TEST

START_TEST(one_job_too_many_is_refused)
{
    stage.run_err = ERR_BUSY;
    front_call_run(&call.front, NULL, work, next);
    ck_assert_str_eq(stage.log, "refuse");
    ck_assert_int_eq(stage.refused, ERR_BUSY);
    ck_assert_int_eq(stage.request.holds, 0);
    finish(true);
    ck_assert_str_eq(stage.log, "refuse end");
}
END_TEST

START_TEST(a_call_ends_with_its_request)
{
    call.front.cleanup = cleanup;
    front_call_run(&call.front, NULL, work, next);
    run_job();
    turn();
    finish(true);
    ck_assert_str_eq(stage.log, "work next cleanup end");
}
END_TEST

START_TEST(a_job_that_outlives_its_request_keeps_what_the_call_holds)
{
    call.front.cleanup = cleanup;
    front_call_run(&call.front, NULL, work, next);
    finish(false);
    ck_assert_str_eq(stage.log, "");
    ck_assert_int_eq(stage.request.holds, 1);
    run_job();
    ck_assert_str_eq(stage.log, "work cleanup end");
    ck_assert_int_eq(stage.request.holds, 0);
}
END_TEST

/* ---- receiving ---- */

START_TEST(who_does_not_wait_looks_once)
{
    poll_for(0);
    ck_assert_str_eq(stage.log, "nothing");
    ck_assert_int_eq(stage.receives, 1);
}
END_TEST

START_TEST(what_is_there_is_answered_once_it_is_committed)
{
    stage.durable = false;
    stage.ready = 2;
    poll_for(20000);
    ck_assert_str_eq(stage.log, "");
    commit(ERR_OK);
    ck_assert_str_eq(stage.log, "messages");
    ck_assert(!stage.passed_on);
}
END_TEST

START_TEST(a_poll_sleeps_until_it_is_called)
{
    poll_for(20000);
    pass(19999);
    ck_assert_str_eq(stage.log, "");
    ck_assert_int_eq(stage.receives, 1);
    stage.ready = 1;
    call_poll();
    ck_assert_str_eq(stage.log, "messages");
}
END_TEST

START_TEST(a_poll_that_is_called_in_vain_sleeps_on)
{
    poll_for(20000);
    call_poll();
    ck_assert_int_eq(stage.receives, 2);
    ck_assert_str_eq(stage.log, "");
}
END_TEST

START_TEST(a_poll_ends_at_its_deadline_after_a_last_look)
{
    poll_for(20000);
    pass(20000);
    ck_assert_str_eq(stage.log, "nothing");
    ck_assert_int_eq(stage.receives, 2);
    ck_assert(stage.passed_on);
}
END_TEST

START_TEST(a_call_during_a_commit_is_remembered)
{
    stage.durable = false;
    poll_for(20000);
    call_poll();
    ck_assert_int_eq(stage.receives, 1);
    stage.durable = true;
    stage.ready = 1;
    commit(ERR_OK);
    ck_assert_str_eq(stage.log, "messages");
}
END_TEST

START_TEST(what_came_between_look_and_sleep_is_looked_for)
{
    stage.came_between = true;
    poll_for(20000);
    ck_assert_int_eq(stage.receives, 2);
}
END_TEST

START_TEST(no_lease_is_taken_for_a_client_that_is_gone)
{
    poll_for(20000);
    stage.ready = 1;
    stage.request.gone = true;
    call_poll();
    ck_assert_str_eq(stage.log, "nothing");
    ck_assert_int_eq(stage.receives, 1);
    ck_assert(stage.passed_on);
}
END_TEST

START_TEST(a_client_that_is_gone_is_not_waited_for)
{
    stage.request.gone = true;
    poll_for(20000);
    ck_assert_str_eq(stage.log, "nothing");
    ck_assert_int_eq(stage.receives, 1);
}
END_TEST

START_TEST(a_stopping_server_answers_its_polls)
{
    poll_for(20000);
    stage.request.stopping = true;
    http_wake(&stage.request);
    turn();
    ck_assert_str_eq(stage.log, "nothing");
    ck_assert_int_eq(stage.receives, 1);
}
END_TEST

START_TEST(too_many_leases_are_an_error_only_to_who_does_not_wait)
{
    stage.receive_err = ERR_OVER_LIMIT;
    poll_for(0);
    ck_assert_str_eq(stage.log, "refuse");
    ck_assert_int_eq(stage.refused, ERR_OVER_LIMIT);
    teardown();
    setup();
    stage.receive_err = ERR_OVER_LIMIT;
    poll_for(20000);
    ck_assert_str_eq(stage.log, "");
    stage.receive_err = ERR_OK;
    stage.ready = 1;
    call_poll();
    ck_assert_str_eq(stage.log, "messages");
}
END_TEST

START_TEST(an_error_is_told_after_the_commit)
{
    stage.durable = false;
    stage.receive_err = ERR_NOT_FOUND;
    poll_for(20000);
    ck_assert_str_eq(stage.log, "");
    commit(ERR_OK);
    ck_assert_str_eq(stage.log, "refuse");
    ck_assert_int_eq(stage.refused, ERR_NOT_FOUND);
}
END_TEST

START_TEST(a_poll_that_cannot_register_does_not_look)
{
    stage.poll_err = ERR_STOPPING;
    poll_for(20000);
    ck_assert_str_eq(stage.log, "refuse");
    ck_assert_int_eq(stage.refused, ERR_STOPPING);
    ck_assert_int_eq(stage.receives, 0);
}
END_TEST

START_TEST(an_answer_that_was_not_written_gives_its_leases_back)
{
    stage.ready = 3;
    poll_for(0);
    finish(false);
    ck_assert_int_eq(stage.given_back, 3);
    ck_assert_str_eq(stage.log, "messages end");
}
END_TEST

START_TEST(an_answer_that_was_written_keeps_its_leases)
{
    stage.ready = 3;
    poll_for(0);
    finish(true);
    ck_assert_int_eq(stage.given_back, 0);
}
END_TEST

START_TEST(a_request_that_ends_in_its_sleep_ends_the_poll)
{
    poll_for(20000);
    finish(false);
    ck_assert_ptr_null(stage.poll);
    ck_assert(stage.passed_on);
    ck_assert_str_eq(stage.log, "end");
}
END_TEST

START_TEST(leases_are_told_to_end_a_visibility_after_the_last_look)
{
    poll_for(20000);
    pass(5000);
    stage.ready = 1;
    stage.config.visibility_ms = 40000;
    int64_t now_ms = stage.clock.wall_ms;
    call_poll();
    ck_assert_int_eq(call.poll.lease_until_wall_ms, now_ms + 40000);
    teardown();
    setup();
    stage.ready = 1;
    call.poll.request.visibility_ms = 0;
    poll_for(0);
    ck_assert_int_eq(call.poll.lease_until_wall_ms, stage.clock.wall_ms);
}
END_TEST

/* ---- rules ---- */

START_TEST(ids_are_1_to_128_visible_ascii_characters)
{
    char id[129];
    memset(id, '~', sizeof id);
    ck_assert(front_id_valid((struct bytes){id, 128}));
    ck_assert(!front_id_valid((struct bytes){id, 129}));
    ck_assert(!front_id_valid(BYTES_NONE));
    ck_assert(!front_id_valid(BYTES_OF("a b")));
    ck_assert(!front_id_valid(BYTES_OF("a\x7f")));
    ck_assert(!front_id_valid(BYTES_OF("\xc3\xa9")));
    ck_assert(front_id_valid(BYTES_OF("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~aZ0")));
}
END_TEST

START_TEST(a_trace_header_is_x_rays)
{
#define ROOT "Root=1-5759e988-bd862e3fe1be46a994272793"
    char text[1025];
    memset(text, ';', sizeof text);
    memcpy(text, ROOT, strlen(ROOT));
    ck_assert(front_trace_valid((struct bytes){text, 1024}));
    ck_assert(!front_trace_valid((struct bytes){text, 1025}));
    ck_assert(front_trace_valid(BYTES_OF(ROOT)));
    ck_assert(!front_trace_valid(BYTES_NONE));
    ck_assert(front_trace_valid(BYTES_OF("Sampled=?;" ROOT)));
    ck_assert(front_trace_valid(BYTES_OF("Self=1; " ROOT ";Sampled=1;")));
    ck_assert(front_trace_valid(BYTES_OF("Root=1-5759E988-bd862e3fe1be46a994272793")));
    ck_assert(!front_trace_valid(BYTES_OF(ROOT ";sampled")));
    ck_assert(!front_trace_valid(BYTES_OF(ROOT "\x01")));
    ck_assert(!front_trace_valid(BYTES_OF(ROOT ";a=\xc3\xa9")));
    ck_assert(!front_trace_valid(BYTES_OF("Root=1-5759e988-bd862e3fe1be46a99427279")));
    ck_assert(!front_trace_valid(BYTES_OF("Root=1-5759e988-bd862e3fe1be46a99427279g")));
    ck_assert(!front_trace_valid(BYTES_OF("Parent=53995c3f42cd8ad8")));
    ck_assert(
        !front_trace_valid(BYTES_OF("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")));
    ck_assert(!front_trace_valid(BYTES_NONE));
}
END_TEST

START_TEST(a_bodys_deduplication_id_is_its_sha_256)
{
    struct bytes id = front_content_dedup_id(BYTES_OF("abc"), &stage.request.arena);
    ck_assert(bytes_equal(
        id, BYTES_OF("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")));
    arena_fini(&stage.request.arena);
}
END_TEST

START_TEST(a_redrive_allow_policy_says_which_sources_may_use_the_topic)
{
    const char *by = "{\"redrivePermission\":\"byQueue\",\"sourceQueueArns\":[\"arn:aws:sqs:"
                     "eu-west-1:000000000000:a\",\"arn:aws:sqs:eu-west-1:000000000000:b\"]}";
    ck_assert(front_redrive_allowed(by, BYTES_OF("a")));
    ck_assert(front_redrive_allowed(by, BYTES_OF("b")));
    ck_assert(!front_redrive_allowed(by, BYTES_OF("c")));
    ck_assert(!front_redrive_allowed("{\"redrivePermission\":\"denyAll\"}", BYTES_OF("a")));
    ck_assert(front_redrive_allowed("{\"redrivePermission\":\"allowAll\"}", BYTES_OF("a")));
    ck_assert(front_redrive_allowed(NULL, BYTES_OF("a")));
}
END_TEST

static TCase *tcase_waits(void)
{
    TCase *t = tcase_create("waits");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, what_is_durable_already_goes_on_at_once);
    tcase_add_test(t, a_wait_holds_the_request_until_it_is_committed);
    tcase_add_test(t, what_will_never_be_durable_is_refused);
    tcase_add_test(t, a_wake_of_something_else_ends_no_wait);
    tcase_add_test(t, a_second_wait_does_not_take_the_first_ones_end_for_its_own);
    tcase_add_test(t, after_a_job_the_loop_goes_on);
    tcase_add_test(t, a_job_whose_marks_have_failed_goes_on_all_the_same);
    tcase_add_test(t, one_job_too_many_is_refused);
    tcase_add_test(t, a_call_ends_with_its_request);
    tcase_add_test(t, a_job_that_outlives_its_request_keeps_what_the_call_holds);
    return t;
}

static TCase *tcase_receiving(void)
{
    TCase *t = tcase_create("receiving");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, who_does_not_wait_looks_once);
    tcase_add_test(t, what_is_there_is_answered_once_it_is_committed);
    tcase_add_test(t, a_poll_sleeps_until_it_is_called);
    tcase_add_test(t, a_poll_that_is_called_in_vain_sleeps_on);
    tcase_add_test(t, a_poll_ends_at_its_deadline_after_a_last_look);
    tcase_add_test(t, a_call_during_a_commit_is_remembered);
    tcase_add_test(t, what_came_between_look_and_sleep_is_looked_for);
    tcase_add_test(t, no_lease_is_taken_for_a_client_that_is_gone);
    tcase_add_test(t, a_client_that_is_gone_is_not_waited_for);
    tcase_add_test(t, a_stopping_server_answers_its_polls);
    tcase_add_test(t, too_many_leases_are_an_error_only_to_who_does_not_wait);
    tcase_add_test(t, an_error_is_told_after_the_commit);
    tcase_add_test(t, a_poll_that_cannot_register_does_not_look);
    tcase_add_test(t, an_answer_that_was_not_written_gives_its_leases_back);
    tcase_add_test(t, an_answer_that_was_written_keeps_its_leases);
    tcase_add_test(t, a_request_that_ends_in_its_sleep_ends_the_poll);
    tcase_add_test(t, leases_are_told_to_end_a_visibility_after_the_last_look);
    return t;
}

static TCase *tcase_rules(void)
{
    TCase *t = tcase_create("rules");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, ids_are_1_to_128_visible_ascii_characters);
    tcase_add_test(t, a_trace_header_is_x_rays);
    tcase_add_test(t, a_redrive_allow_policy_says_which_sources_may_use_the_topic);
    tcase_add_test(t, a_bodys_deduplication_id_is_its_sha_256);
    return t;
}

Suite *suite_new(void)
{
    Suite *s = suite_create("front");
    suite_add_tcase(s, tcase_waits());
    suite_add_tcase(s, tcase_receiving());
    suite_add_tcase(s, tcase_rules());
    return s;
}
