// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_report.h"

#include <stdio.h>
#include <stdlib.h>

/* Of a topic's settings, those that say what a message costs. */
static const char *const telling[] = {"fifo",    "partitions", "copies",
                                      "min_isr", "durability", "sync"};

static const struct {
    const char *name;
    unsigned per_100k;
} percentiles[] = {{"p50", 50000}, {"p90", 90000}, {"p99", 99000}, {"p99.9", 99900}};
enum { PERCENTILES_N = sizeof percentiles / sizeof percentiles[0] };

/* ---- figures ---- */

static double per_s(const struct cli_bench_report *r, uint64_t n)
{
    return r->result->measured_ns == 0 ? 0 : (double)n * 1e9 / (double)r->result->measured_ns;
}

static uint64_t requests(const struct bench_result *b)
{
    uint64_t n = 0;
    for (size_t i = 0; i < BENCH_OPS_N; i++)
        n += b->measured[i].requests;
    return n;
}

static uint64_t messages(const struct cli_bench_report *r)
{
    const struct bench_count *c = r->result->measured;
    switch (r->load->mode) {
    case BENCH_SEND:
        return c[BENCH_OP_SEND].messages;
    case BENCH_RECEIVE:
    case BENCH_CYCLE:
        return c[BENCH_OP_DELETE].messages;
    case BENCH_LATENCY:
    case BENCH_FANOUT:
        return c[BENCH_OP_RECEIVE].messages;
    }
    return 0;
}

double cli_bench_messages_per_s(const struct cli_bench_report *r)
{
    return per_s(r, messages(r));
}

static double us_each(uint64_t ns, uint64_t n)
{
    return n == 0 ? 0 : (double)ns / 1e3 / (double)n;
}

/* How much of one core. */
static double share(const struct cli_bench_report *r, uint64_t ns)
{
    return r->result->measured_ns == 0 ? 0 : (double)ns / (double)r->result->measured_ns;
}

/* A single thread that is busy all the time can ask no more; one that waits for a processor asks
 * late, and what it measures is partly its own waiting. */
static bool was_limit(const struct cli_bench_report *r)
{
    return share(r, r->result->own_cpu_ns) >= 0.9;
}

static bool was_starved(const struct cli_bench_report *r)
{
    return share(r, r->result->own_waited_ns) >= 0.1;
}

static json_int_t stat_of(const json_t *about, const char *name)
{
    return json_integer_value(json_object_get(json_object_get(about, "stats"), name));
}

/* Its counters go on, so it told them and was not started anew in between. */
static bool has_counters(const struct cli_bench_report *r)
{
    return r->before != NULL && r->after != NULL &&
           stat_of(r->after, "commit_rounds") >= stat_of(r->before, "commit_rounds");
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text == NULL ? "" : text;
}

/* ---- JSON ---- */

static json_t *times_json(const struct bench_histogram *h)
{
    json_t *times = json_object();
    for (size_t i = 0; i < PERCENTILES_N; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "%s_us", percentiles[i].name);
        json_object_set_new(
            times, name,
            json_real((double)bench_histogram_percentile(h, percentiles[i].per_100k) / 1e3));
    }
    json_object_set_new(times, "max_us", json_real((double)h->max / 1e3));
    return times;
}

static json_t *operations_json(const struct bench_result *b)
{
    json_t *all = json_object();
    for (size_t i = 0; i < BENCH_OPS_N; i++) {
        if (b->measured[i].requests == 0)
            continue;
        json_t *one = json_pack("{s:I, s:I}", "requests", (json_int_t)b->measured[i].requests,
                                "messages", (json_int_t)b->measured[i].messages);
        if (i == BENCH_OP_RECEIVE)
            json_object_set_new(one, "empty", json_integer((json_int_t)b->empty_receives));
        if (b->latency_ns[i].n > 0)
            json_object_set_new(one, "latency", times_json(&b->latency_ns[i]));
        json_object_set_new(all, bench_operation_names[i], one);
    }
    return all;
}

static json_t *errors_json(const struct bench_result *b)
{
    json_t *errors = json_array();
    for (size_t i = 0; i < b->failures_n; i++) {
        const struct bench_failure *f = &b->failures[i];
        json_t *one = json_pack("{s:I, s:s}", "count", (json_int_t)f->n, "code", f->code);
        if (f->text[0] != '\0')
            json_object_set_new(one, "message", json_string(f->text));
        json_array_append_new(errors, one);
    }
    if (b->failures_other > 0)
        json_array_append_new(errors, json_pack("{s:I, s:s}", "count",
                                                (json_int_t)b->failures_other, "code", "others"));
    return errors;
}

static json_t *load_json(const struct cli_bench_report *r)
{
    const struct bench_load *load = r->load;
    json_t *root = json_pack(
        "{s:I, s:I, s:I, s:b, s:I, s:f, s:f}", "connections", (json_int_t)load->connections,
        "batch", (json_int_t)load->batch, "body_bytes", (json_int_t)load->body_bytes, "fifo",
        load->groups > 0, "groups", (json_int_t)load->groups, "warm_up_seconds",
        (double)load->warm_up_ms / 1e3, "seconds", (double)r->result->measured_ns / 1e9);
    if (load->rate > 0)
        json_object_set_new(root, "rate", json_integer((json_int_t)load->rate));
    if (load->mode == BENCH_RECEIVE)
        json_object_set_new(root, "backlog", json_integer((json_int_t)r->result->backlog));
    return root;
}

static json_t *broker_json(const struct cli_bench_report *r)
{
    const struct bench_result *b = r->result;
    json_t *root = json_pack("{s:s}", "url", r->server);
    if (r->before != NULL) {
        json_object_set_new(root, "name", json_string(text_of(r->before, "name")));
        json_object_set_new(root, "version", json_string(text_of(r->before, "version")));
    }
    if (has_counters(r)) {
        json_object_set_new(
            root, "commit_rounds",
            json_integer(stat_of(r->after, "commit_rounds") - stat_of(r->before, "commit_rounds")));
        json_object_set_new(root, "sync_average_us",
                            json_integer(stat_of(r->after, "sync_average_us")));
    }
    if (b->broker_pid != 0)
        json_object_set_new(root, "process",
                            json_pack("{s:I, s:s, s:f, s:f}", "pid", (json_int_t)b->broker_pid,
                                      "name", b->broker_process, "cpu_us_per_message",
                                      us_each(b->broker_cpu_ns, messages(r)), "cores_used",
                                      share(r, b->broker_cpu_ns)));
    return root;
}

static json_t *topic_json(const struct cli_bench_report *r)
{
    json_t *root = json_object();
    for (size_t i = 0; i < sizeof telling / sizeof telling[0]; i++)
        if (json_object_get(r->topic, telling[i]) != NULL)
            json_object_set(root, telling[i], json_object_get(r->topic, telling[i]));
    return root;
}

json_t *cli_bench_report_json(const struct cli_bench_report *r)
{
    const struct bench_result *b = r->result;
    json_t *root = json_pack(
        "{s:s, s:{s:I, s:s, s:s}, s:o, s:o, s:o, s:f, s:f, s:o, s:o, s:I}", "mode", r->mode,
        "machine", "cores", (json_int_t)r->machine->cores, "kernel", r->machine->kernel,
        "processor", r->machine->processor, "broker", broker_json(r), "topic", topic_json(r),
        "load", load_json(r), "messages_per_second", cli_bench_messages_per_s(r),
        "requests_per_second", per_s(r, requests(b)), "operations", operations_json(b), "errors",
        errors_json(b), "reconnects", (json_int_t)b->reconnects);
    if (b->delivery_ns.n > 0 || b->undelivered > 0 || b->unsent > 0)
        json_object_set_new(root, "delivery",
                            json_pack("{s:I, s:I, s:I, s:o}", "messages",
                                      (json_int_t)b->delivery_ns.n, "undelivered",
                                      (json_int_t)b->undelivered, "unsent", (json_int_t)b->unsent,
                                      "latency", times_json(&b->delivery_ns)));
    json_object_set_new(root, "totals",
                        json_pack("{s:I, s:I, s:I}", "sent",
                                  (json_int_t)b->in_all[BENCH_OP_SEND].messages, "received",
                                  (json_int_t)b->in_all[BENCH_OP_RECEIVE].messages, "deleted",
                                  (json_int_t)b->in_all[BENCH_OP_DELETE].messages));
    json_object_set_new(root, "generator",
                        json_pack("{s:f, s:f, s:f, s:b, s:b}", "cpu_us_per_request",
                                  us_each(b->own_cpu_ns, requests(b)), "cpu_share",
                                  share(r, b->own_cpu_ns), "waited_share",
                                  share(r, b->own_waited_ns), "was_the_limit", was_limit(r),
                                  "was_starved", was_starved(r)));
    json_object_set_new(root, "interrupted", json_boolean(b->interrupted));
    json_object_set_new(root, "used_up", json_boolean(b->used_up));
    return root;
}

/* ---- text ---- */

static void times_print(const char *name, uint64_t n, const struct bench_histogram *h)
{
    printf("  %-9s %10llu", name, (unsigned long long)n);
    for (size_t i = 0; i < PERCENTILES_N; i++)
        printf(" %9.3f", (double)bench_histogram_percentile(h, percentiles[i].per_100k) / 1e6);
    printf(" %9.3f\n", (double)h->max / 1e6);
}

/* What the broker tells, as JSON in ASCII: it may hold anything. */
static void value_print(const char *before, const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    printf("%s%s", before, text == NULL ? "?" : text);
    free(text);
}

static void setting_print(const struct cli_bench_report *r)
{
    const struct bench_load *load = r->load;
    printf("machine    %ld cores, %s%s%s\n", r->machine->cores, r->machine->kernel,
           r->machine->processor[0] == '\0' ? "" : ", ", r->machine->processor);
    printf("broker     %s%s", r->server, load->address->loopback ? ", on this machine" : "");
    if (r->before == NULL)
        printf(", which does not tell what it is (no /v1)");
    for (size_t i = 0; r->before != NULL && i < 2; i++)
        value_print(i == 0 ? ": " : " ", json_object_get(r->before, i == 0 ? "name" : "version"));
    printf("\ntopic     %s", r->topic == NULL ? " nothing is told of it" : "");
    for (size_t i = 0; i < sizeof telling / sizeof telling[0]; i++) {
        if (json_object_get(r->topic, telling[i]) == NULL)
            continue;
        printf(" %s", telling[i]);
        value_print("=", json_object_get(r->topic, telling[i]));
    }
    printf("\nload       %s: %u connections, batches of %u, bodies of %zu bytes", r->mode,
           load->connections, load->batch, load->body_bytes);
    if (load->groups > 0)
        printf(", %u message groups", load->groups);
    if (load->rate > 0)
        printf(", %llu messages/s", (unsigned long long)load->rate);
    if (load->mode == BENCH_RECEIVE)
        printf(", a backlog of %llu", (unsigned long long)r->result->backlog);
    printf("\n           measured for %.2f s after a warm-up of %.2f s\n",
           (double)r->result->measured_ns / 1e9, (double)load->warm_up_ms / 1e3);
}

static void remarks_print(const struct cli_bench_report *r)
{
    const struct bench_result *b = r->result;
    if (b->undelivered > 0)
        printf("remark     %llu messages had not been received when the run ended\n",
               (unsigned long long)b->undelivered);
    if (b->unsent > 0)
        printf("remark     %llu messages were due and could not be sent: the rate was not "
               "reached\n",
               (unsigned long long)b->unsent);
    if (b->used_up)
        printf("remark     it ended early: the backlog was used up\n");
    if (b->interrupted)
        printf("remark     it ended early: a signal came\n");
    if (b->gave_up)
        printf("remark     it ended early: request upon request failed\n");
    if (r->before != NULL && r->after != NULL && !has_counters(r))
        printf("remark     the broker was started anew meanwhile\n");
    if (b->reconnects > 0)
        printf("remark     %llu times a connection was opened again\n",
               (unsigned long long)b->reconnects);
    if (was_limit(r))
        printf("remark     this program itself was the limit: the broker can do more\n");
    if (was_starved(r))
        printf("remark     this program waited for a processor %.0f %% of the time: times are "
               "too long, and the broker may do more\n",
               100 * share(r, b->own_waited_ns));
}

void cli_bench_report_print(const struct cli_bench_report *r)
{
    const struct bench_result *b = r->result;
    setting_print(r);
    printf("\n  %.0f messages/s, %.0f requests/s\n\n  %-9s %10s", cli_bench_messages_per_s(r),
           per_s(r, requests(b)), "ms", "requests");
    for (size_t i = 0; i < PERCENTILES_N; i++)
        printf(" %9s", percentiles[i].name);
    printf(" %9s\n", "max");
    for (size_t i = 0; i < BENCH_OPS_N; i++)
        if (b->latency_ns[i].n > 0)
            times_print(bench_operation_names[i], b->measured[i].requests, &b->latency_ns[i]);
    if (b->delivery_ns.n > 0)
        times_print("delivery", b->delivery_ns.n, &b->delivery_ns);
    if (b->empty_receives > 0)
        printf("  (%llu receives came back empty)\n", (unsigned long long)b->empty_receives);
    printf("\nerrors     %s", bench_result_failures(b) == 0 ? "none\n" : "");
    for (size_t i = 0; i < b->failures_n; i++)
        printf("%s%llu %s%s%s\n", i > 0 ? "           " : "", (unsigned long long)b->failures[i].n,
               b->failures[i].code, b->failures[i].text[0] == '\0' ? "" : ": ",
               b->failures[i].text);
    if (b->failures_other > 0)
        printf("           %llu others\n", (unsigned long long)b->failures_other);
    if (b->broker_pid != 0)
        printf("processor  %s[%ld]: %.1f us a message, %.1f us a request, %.2f cores\n",
               b->broker_process, b->broker_pid, us_each(b->broker_cpu_ns, messages(r)),
               us_each(b->broker_cpu_ns, requests(b)), share(r, b->broker_cpu_ns));
    printf("%s this program: %.1f us a request, %.2f cores\n",
           b->broker_pid != 0 ? "          " : "processor ", us_each(b->own_cpu_ns, requests(b)),
           share(r, b->own_cpu_ns));
    if (has_counters(r))
        printf(
            "commits    %lld in all of the run; a sync takes %lld us on average\n",
            (long long)(stat_of(r->after, "commit_rounds") - stat_of(r->before, "commit_rounds")),
            (long long)stat_of(r->after, "sync_average_us"));
    remarks_print(r);
}
