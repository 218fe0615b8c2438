// SPDX-License-Identifier: Apache-2.0
/* leaselog bench: makes a topic of its own, loads it (src/bench), deletes it, and says what was
 * found. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "cli/bench_report.h"
#include "cli/run.h"
#include "cli/signals.h"
#include "cli/table.h"

static const struct {
    const char *word;
    enum bench_mode mode;
} modes[] = {{"send", BENCH_SEND},
             {"receive", BENCH_RECEIVE},
             {"cycle", BENCH_CYCLE},
             {"latency", BENCH_LATENCY},
             {"fanout", BENCH_FANOUT}};

enum {
    CONNECTIONS = 16,
    BODY_BYTES = 1024,
    MEASURE_MS = 10000,
    LATENCY_RATE = 1000,
    FANOUT_RATE = 100, /* of one sender, who waits for each answer */
    WARM_UP_MS_MIN = 50,
    WARM_UP_MS_MAX = 2000
};

static bool ends_in_fifo(const char *name)
{
    size_t n = strlen(name);
    return n >= 5 && strcmp(name + n - 5, ".fifo") == 0;
}

static int64_t or_else(int64_t given, int64_t preset)
{
    return given == 0 ? preset : given;
}

/* The load that the command line asks for; NULL, or what is wrong with it. */
static const char *load_of(const struct cli_args *args, struct bench_load *out)
{
    size_t i = 0, n = sizeof modes / sizeof modes[0];
    while (args->words_n == 1 && i < n && strcmp(args->words[0], modes[i].word) != 0)
        i++;
    if (args->words_n != 1 || i == n)
        return "it takes one word: send, receive, cycle, latency or fanout";
    bool delivery = modes[i].mode == BENCH_LATENCY || modes[i].mode == BENCH_FANOUT;
    if (args->rate != 0 && !delivery)
        return "--rate goes with latency and fanout; the others go as fast as they can";
    if (args->groups != 0 && !args->fifo)
        return "--groups goes with --fifo";
    if (args->queue != NULL && args->queue[0] == '\0')
        return "--queue needs a name";
    if (args->queue != NULL && !args->yes)
        return "--queue loads a topic that is there, and messages in it are received and deleted: "
               "--yes says that this is meant";
    if (args->queue != NULL && args->settings.n > 0)
        return "--option is for the topic that is made here, not for that of --queue";
    if (args->queue != NULL && args->fifo != ends_in_fifo(args->queue))
        return "--fifo goes with a topic whose name ends in .fifo, and such a topic needs it";
    struct rng rng = rng_from_system();
    *out = (struct bench_load){.mode = modes[i].mode,
                               .connections = (unsigned)or_else(args->connections, CONNECTIONS),
                               .batch = (unsigned)or_else(args->batch, 1),
                               .body_bytes = (size_t)or_else(args->body_bytes, BODY_BYTES),
                               .measure_ms = or_else(args->measure_ms, MEASURE_MS),
                               .timeout_ms = args->timeout_s * 1000,
                               .run = rng_next(&rng)};
    if (delivery)
        out->rate = (uint64_t)or_else(args->rate,
                                      modes[i].mode == BENCH_FANOUT ? FANOUT_RATE : LATENCY_RATE);
    if (args->fifo)
        out->groups = (unsigned)or_else(args->groups, out->connections);
    out->warm_up_ms = out->measure_ms / 5;
    out->warm_up_ms = out->warm_up_ms < WARM_UP_MS_MIN   ? WARM_UP_MS_MIN
                      : out->warm_up_ms > WARM_UP_MS_MAX ? WARM_UP_MS_MAX
                                                         : out->warm_up_ms;
    if (out->mode == BENCH_RECEIVE)
        out->warm_up_ms = 0; /* the filling was one, and the backlog is not to be wasted on it */
    return bench_load_fault(out);
}

/* GET of something that not every broker has; NULL then. An error that no answer came is said. */
static enum cli_exit ask(struct cli_client *client, const char *path, json_t **reply)
{
    struct cli_fault fault;
    *reply = NULL;
    enum cli_exit e = cli_client_rest(client, "GET", path, NULL, reply, &fault);
    return e == CLI_OK || fault.status != 0 ? CLI_OK : e;
}

/* ---- the topic ---- */

static enum cli_exit topic_make(const struct cli_args *args, struct cli_client *client,
                                const char *name, char **url)
{
    json_t *reply;
    enum cli_exit e = args->queue != NULL
                          ? cli_client_call(client, "GetQueueUrl",
                                            json_pack("{s:s}", "QueueName", name), 0, &reply)
                          : cli_topic_create(args, client, name, &reply);
    if (e != CLI_OK)
        return e;
    const char *text = json_string_value(json_object_get(reply, "QueueUrl"));
    *url = strdup(text == NULL ? name : text);
    CHECK(*url != NULL);
    json_decref(reply);
    return CLI_OK;
}

/* Of the topic that was made here. */
static enum cli_exit topic_drop(struct cli_client *client, const char *name, const char *url)
{
    json_t *reply;
    enum cli_exit e =
        cli_client_call(client, "DeleteQueue", json_pack("{s:s}", "QueueUrl", url), 0, &reply);
    if (e == CLI_OK)
        json_decref(reply);
    else
        cli_say("the topic %s is left there; when the broker answers again: leaselog topics rm %s",
                name, name);
    return e;
}

/* After a making that failed: it may be there all the same, without a setting that was refused. */
static void topic_drop_unmade(struct cli_client *client, const char *name)
{
    struct cli_fault fault;
    struct buf path = BUF_EMPTY;
    cli_topic_path(&path, name, "");
    buf_put_u8(&path, 0);
    (void)cli_client_rest(client, "DELETE", path.at, NULL, NULL, &fault);
    buf_fini(&path);
}

/* ---- the run ---- */

/* What is true of a result as a whole. */
static enum cli_exit verdict(const struct cli_bench_report *report)
{
    const struct bench_result *b = report->result;
    if (b->gave_up) {
        const struct bench_failure *f = &b->newest;
        cli_say("it gave up: %s%s%s", f->code, f->text[0] == '\0' ? "" : ": ", f->text);
        return CLI_FAILURE;
    }
    if (b->interrupted)
        return CLI_PARTIAL;
    if (cli_bench_messages_per_s(report) <= 0) {
        cli_say("not one message got through in the measured time");
        return CLI_FAILURE;
    }
    uint64_t failures = bench_result_failures(b);
    if (failures > 0)
        cli_say("%llu requests or connections failed", (unsigned long long)failures);
    return failures > 0 ? CLI_PARTIAL : CLI_OK;
}

static enum cli_exit report_print(const struct cli_args *args,
                                  const struct cli_bench_report *report)
{
    if (args->json)
        cli_print_json(cli_bench_report_json(report));
    else
        cli_bench_report_print(report);
    return cli_print_done() ? verdict(report) : CLI_FAILURE;
}

/* Loads the topic `name`, which load->queue_url leads to. */
static enum cli_exit run(const struct cli_args *args, struct cli_client *client,
                         struct cli_bench_report *report, const char *name)
{
    static struct bench_result result; /* too large for a stack */
    struct bench_machine machine;
    struct buf path = BUF_EMPTY;
    json_t *topic = NULL, *after = NULL;
    cli_topic_path(&path, name, "");
    buf_put_u8(&path, 0);
    enum cli_exit e = ask(client, path.at, &topic);
    buf_fini(&path);
    if (e != CLI_OK)
        return e;
    bench_machine_read(&machine);
    cli_hint(args, "loading %s for %.1f s", name,
             (double)(report->load->warm_up_ms + report->load->measure_ms) / 1e3);
    bench_load_run(report->load, &result);
    if (!result.gave_up)
        (void)ask(client, "/v1", &after);
    report->topic = topic;
    report->after = after;
    report->machine = &machine;
    report->result = &result;
    e = report_print(args, report);
    json_decref(topic);
    json_decref(after);
    return e;
}

/* With a topic of its own, or that of --queue. */
static enum cli_exit run_on_topic(const struct cli_args *args, struct cli_client *client,
                                  struct bench_load *load, struct cli_bench_report *report)
{
    char own[80], *url = NULL;
    /* The process's number says whose it is; the random part, that no other run has it. */
    (void)snprintf(own, sizeof own, "leaselog-bench-%ld-%08lx%s", (long)getpid(),
                   (unsigned long)(load->run & 0xffffffff), args->fifo ? ".fifo" : "");
    const char *name = args->queue != NULL ? args->queue : own;
    enum cli_exit e = topic_make(args, client, name, &url);
    if (e == CLI_OK) {
        load->queue_url = url;
        e = run(args, client, report, name);
    }
    if (args->queue == NULL && url == NULL) {
        topic_drop_unmade(client, name);
    } else if (args->queue == NULL) {
        enum cli_exit dropped = topic_drop(client, name, url);
        e = e == CLI_OK ? dropped : e;
    }
    free(url);
    return e;
}

enum cli_exit cli_run_bench(const struct cli_args *args, struct cli_client *client)
{
    struct bench_load load;
    struct bench_address address;
    sigset_t before;
    const char *why = load_of(args, &load);
    if (why != NULL)
        return cli_usage(args, why);
    struct cli_bench_report report = {
        .mode = args->words[0], .server = cli_client_server(client), .load = &load};
    enum err found = bench_address_of(report.server, &address, &why);
    if (found != ERR_OK) {
        cli_say("%s: %s", report.server, why);
        return found == ERR_NOT_FOUND ? CLI_UNAVAILABLE : CLI_USAGE;
    }
    if (!address.loopback && !args->yes)
        return cli_usage(args,
                         "that broker is not on this machine, and this loads it as hard as it "
                         "can: --yes says that this is meant");
    json_t *about;
    enum cli_exit e = ask(client, "/v1", &about);
    if (e != CLI_OK)
        return e;
    report.before = about;
    load.address = &address;
    load.stop_fd = cli_signals_open(&before);
    if (load.stop_fd < 0 || bench_address_choose(&address) != ERR_OK) {
        cli_say("%s: it cannot be reached any more", report.server);
        e = CLI_UNAVAILABLE;
    } else {
        e = run_on_topic(args, client, &load, &report);
    }
    json_decref(about);
    if (load.stop_fd >= 0)
        (void)close(load.stop_fd);
    return e;
}
