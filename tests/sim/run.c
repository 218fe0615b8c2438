// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "base/check.h"
#include "base/note.h"
#include "lib/fault_vfs.h"
#include "sim/sim.h"

enum {
    LIVES_MAX = 6,
    STEPS_MAX = 90,
    DRAIN_ROUNDS_MAX = 60,
    HOUR_MS = 3600 * 1000,
};

/* How a life ends. */
enum ending {
    END_CLEAN,
    END_KILL,
    END_POWER, /* at one of its operations on the disk */
    END_ERROR, /* an operation fails; then some steps later kill or power cut */
    END_FULL,  /* no room, then the same */
    ENDINGS
};

/* ---- a step ---- */

/* A good while, or exactly to the end of something, or just before. */
static void pass(struct sim *s)
{
    static const int64_t spans_ms[] = {1, 10, 100, 500, 1000, 3000, 10000, 61000};
    int64_t ms = spans_ms[sim_below(s, 8)];
    unsigned have = s->times_n < SIM_TIMES ? s->times_n : SIM_TIMES;
    if (have > 0 && sim_chance(s, 60)) {
        int64_t at_ms = s->times[sim_below(s, have)] - (int64_t)sim_below(s, 2);
        int64_t left_ms = at_ms - queue_now_ms(s->q);
        if (left_ms > 0 && (left_ms < 30000 || sim_chance(s, 20)))
            ms = left_ms;
    }
    sim_pass(s, ms);
}

static void jump_wall(struct sim *s)
{
    s->clock.wall_ms += (int64_t)sim_below(s, 2 * HOUR_MS) - HOUR_MS;
}

static void watch(struct sim *s)
{
    sim_rest(s);
    if (fault_disk_has_failed(s->disk) || queue_failed(s->q))
        return;
    for (int i = 0; i < SIM_POLLS; i++)
        if (s->polls[i].topic != NULL && !s->q->space_out)
            sim_put(s, (struct event){.kind = EVENT_EMPTY, .topic = s->polls[i].incarnation});
    sim_count(s);
}

/* In many runs one topic gets most of the work, so that its log grows by many segments. */
static uint32_t choose_slot(struct sim *s)
{
    bool any = s->focus == HISTORY_NONE || sim_chance(s, 40);
    return any ? (uint32_t)sim_below(s, SIM_SLOTS) : s->focus;
}

static void step_rare(struct sim *s)
{
    uint32_t slot = (uint32_t)sim_below(s, SIM_SLOTS);
    struct sim_poll *p = &s->polls[sim_below(s, SIM_POLLS)];
    switch (sim_below(s, 15)) {
    case 0:
        sim_purge(s, slot);
        return;
    case 1:
        sim_topic_delete(s, slot);
        return;
    case 2:
    case 3:
        sim_topic_create(s, slot);
        return;
    case 4:
        jump_wall(s);
        return;
    case 5:
        if (p->topic != NULL)
            sim_poll_end(s, p, sim_chance(s, 50));
        return;
    case 6:
    case 7:
        sim_give_back_late(s);
        return;
    case 8:
    case 9:
        sim_topic_change(s, slot);
        return;
    case 10:
        fault_vfs_busy(sim_chance(s, 30));
        return;
    default:
        sim_poll_start(s, slot);
    }
}

static void step(struct sim *s)
{
    uint32_t slot = choose_slot(s);
    uint64_t what = sim_below(s, 100);
    if (what < 22)
        sim_send(s, slot);
    else if (what < 45)
        sim_receive_slot(s, slot);
    else if (what < 57)
        sim_use_receipt(s, false);
    else if (what < 63)
        sim_use_receipt(s, true);
    else if (what < 72)
        queue_pass_end(s->q);
    else if (what < 78)
        queue_housekeep(s->q);
    else if (what < 88)
        pass(s);
    else if (what < 92)
        watch(s);
    else
        step_rare(s);
    if (sim_chance(s, 30))
        sim_polls_serve(s);
    sim_note_synced(s);
}

/* ---- lives ---- */

static uint64_t used_bytes(struct sim *s)
{
    uint64_t free_bytes = 0;
    fault_disk_capacity(s->disk, UINT64_MAX / 2);
    if (s->options.disk->free_bytes(s->options.disk->self, &free_bytes) != ERR_OK)
        return 0;
    return UINT64_MAX / 2 - free_bytes;
}

static void arm(struct sim *s, enum ending ending)
{
    if (ending == END_POWER)
        fault_disk_fail_in(s->disk, sim_below(s, 400), ERR_IO, true);
    else if (ending == END_ERROR)
        fault_disk_fail_in(s->disk, sim_below(s, 300), sim_chance(s, 50) ? ERR_IO : ERR_NO_SPACE,
                           false);
    else if (ending == END_FULL)
        fault_disk_capacity(s->disk, used_bytes(s) + (sim_chance(s, 50) ? 0 : 256u << 20) +
                                         sim_below(s, 60000));
}

/* True: the machine ran on, and the page cache is what it was. */
static bool fall(struct sim *s, enum ending ending)
{
    bool power = ending == END_POWER || (ending != END_KILL && sim_chance(s, 50));
    if (s->q != NULL)
        sim_down(s, false);
    if (power) {
        fault_disk_power_cut(s->disk);
        fake_clock_reboot(&s->clock);
        s->clock.wall_ms += (int64_t)sim_below(s, 5000);
        if (sim_chance(s, 10))
            jump_wall(s);
    } else {
        fault_disk_kill(s->disk);
        fault_disk_fail_never(s->disk);
    }
    fault_disk_capacity(s->disk, UINT64_MAX / 2);
    return !power;
}

/* Starts, perhaps with crashes on the way. */
static void start(struct sim *s, bool same_boot)
{
    for (unsigned crashes = sim_chance(s, 25) ? 1 + (unsigned)sim_below(s, 2) : 0;; crashes--) {
        if (crashes > 0)
            fault_disk_fail_in(s->disk, sim_below(s, 90), ERR_IO, sim_chance(s, 70));
        enum err e = sim_open(s);
        bool fell = fault_disk_has_failed(s->disk);
        if (!fell) {
            fault_disk_fail_never(s->disk);
            if (e == ERR_OK)
                sim_look_around(s, same_boot);
            else
                sim_put(s, (struct event){.kind = EVENT_OPEN, .err = e, .until_ms = INT64_MIN});
            return;
        }
        if (e == ERR_OK) {
            fault_vfs_kill();
            queue_abandon(s->q);
            s->q = NULL;
        }
        same_boot = fall(s, END_ERROR) && same_boot;
        if (crashes == 0)
            crashes = 1;
    }
}

static bool live(struct sim *s)
{
    enum ending ending = (enum ending)sim_below(s, ENDINGS);
    unsigned steps = (unsigned)sim_below(s, STEPS_MAX), after = 0;
    bool early = sim_chance(s, 30); /* so that what fails is often the making of topics */
    if (early)
        arm(s, ending);
    for (uint32_t slot = 0; slot < SIM_SLOTS; slot++)
        if (s->life == 1 ? sim_chance(s, 80) : sim_chance(s, 20))
            sim_topic_create(s, slot);
    if (!early)
        arm(s, ending);
    for (unsigned i = 0; i < steps; i++) {
        step(s);
        bool failed = fault_disk_has_failed(s->disk);
        if (failed && ending == END_POWER)
            break;
        if ((failed || queue_failed(s->q)) && ++after > 10)
            break;
    }
    if (ending != END_CLEAN)
        return fall(s, ending);
    sim_down(s, true);
    return true;
}

/* ---- the end ---- */

static bool drain_topic(struct sim *s, uint32_t slot)
{
    struct queue_topic *t;
    struct queue_counters c = {0};
    if (queue_topic_find(s->q, bytes_of_text(s->plans[slot].name), &t) != ERR_OK)
        return false;
    while (sim_receive(s, t, s->slots[slot], true) > 0) {
        queue_commit_all(s->q);
        sim_note_synced(s);
        unsigned n = s->receipts_n < SIM_BATCH ? s->receipts_n : SIM_BATCH;
        for (unsigned i = 1; i <= n; i++) {
            struct sim_receipt r = s->receipts[(s->receipts_n - i) % SIM_RECEIPTS];
            if (r.lease == s->last_receive)
                sim_delete(s, &r);
        }
        queue_commit_all(s->q);
        sim_note_synced(s);
    }
    enum err e = queue_count(t, BYTES_NONE, &c);
    queue_topic_give_back(t);
    return e != ERR_OK || c.visible + c.in_flight + c.delayed + c.moving > 0;
}

/* All that is left is received and deleted; leases and delays end meanwhile. */
static void drain(struct sim *s)
{
    bool more = true;
    sim_polls_end(s);
    for (int round = 0; more && round < DRAIN_ROUNDS_MAX; round++) {
        more = false;
        for (uint32_t slot = 0; slot < SIM_SLOTS; slot++)
            more = drain_topic(s, slot) || more;
        sim_rest(s);
        if (more)
            sim_pass(s, 1000);
    }
    sim_count(s);
    sim_strays(s);
    sim_put(s, (struct event){.kind = EVENT_FINAL, .flag = more && !s->damaged});
}

struct chosen {
    uint64_t left;
    char path[200];
    uint64_t bytes;
};

static void choose(void *arg, const char *path, uint64_t bytes)
{
    struct chosen *c = arg;
    if (bytes == 0)
        return;
    if (c->left-- == 0) {
        snprintf(c->path, sizeof c->path, "%s", path);
        c->bytes = bytes;
    }
}

static void damage(struct sim *s)
{
    s->damaged = true;
    for (uint64_t flips = 1 + sim_below(s, 4); flips > 0; flips--) {
        struct chosen c = {.left = sim_below(s, 12)};
        fault_disk_each(s->disk, choose, &c);
        if (c.bytes > 0)
            fault_disk_flip(s->disk, c.path, sim_below(s, c.bytes), (unsigned)sim_below(s, 8));
    }
}

static void play(struct sim *s)
{
    bool same_boot = true;
    s->focus = sim_chance(s, 50) ? (uint32_t)sim_below(s, SIM_SLOTS) : HISTORY_NONE;
    unsigned lives = 2 + (unsigned)sim_below(s, LIVES_MAX - 1);
    for (unsigned i = 0; i < lives; i++) {
        start(s, same_boot);
        if (s->q == NULL)
            return;
        same_boot = live(s);
    }
    if (sim_chance(s, 8))
        damage(s);
    start(s, same_boot);
    if (s->q != NULL)
        drain(s);
}

void sim_run(uint64_t seed, FILE *tell, struct sim_result *out)
{
    struct sim s;
    sim_init(&s, seed);
    play(&s);
    *out = (struct sim_result){.hash = history_hash(&s.history),
                               .events = s.history.n,
                               .messages = s.next_message,
                               .lives = s.life};
    for (size_t i = 0; i < s.history.n; i++)
        out->takes += s.history.at[i].kind == EVENT_TAKE;
    checker_run(&s.history, s.damaged, &out->verdict);
    if (out->verdict.rule != RULE_NONE && tell != NULL) {
        const struct verdict *v = &out->verdict;
        if (getenv("LEASELOG_VERBOSE") != NULL)
            for (size_t i = 0; i <= v->event; i++)
                history_print_event(&s.history, i, tell);
        else
            history_print(&s.history, v->message, v->event, tell);
        fprintf(tell, "LEASELOG_SEED=%llu: rule %s, event %zu, message %d: %s\n",
                (unsigned long long)seed, checker_rule_name(v->rule), v->event, (int)v->message,
                v->text);
    }
    sim_fini(&s);
}
