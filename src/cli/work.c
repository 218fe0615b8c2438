// SPDX-License-Identifier: Apache-2.0
#include "cli/work.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/job.h"
#include "cli/run.h"
#include "cli/signals.h"
#include "cli/text.h"

enum { WAIT_S_MAX = 20, PAUSE_MS_MAX = 5000, VISIBILITY_S = 30 };

struct worker {
    struct cli_crew *crew;
    struct cli_client *client;
    pthread_t thread;
    int ended; /* an eventfd of all, counts the threads that have come to their end */
};

static void event_put(int fd)
{
    uint64_t one = 1;
    CHECK(write(fd, &one, sizeof one) == (ssize_t)sizeof one);
}

static void crew_stop(struct cli_crew *crew, enum cli_exit why)
{
    int none = CLI_OK;
    atomic_compare_exchange_strong(&crew->why, &none, (int)why);
    event_put(crew->presses[0]);
}

/* ---- a worker ---- */

/* The next message; NULL when there is none. */
static enum cli_exit receive(struct worker *w, int64_t wait_s, json_t **message)
{
    json_t *reply, *request = cli_receive_request(w->crew->topic, 1, wait_s, w->crew->visibility_s);
    enum cli_exit e = cli_client_call(w->client, "ReceiveMessage", request, wait_s, &reply);
    if (e != CLI_OK)
        return e;
    *message = json_incref(json_array_get(json_object_get(reply, "Messages"), 0));
    json_decref(reply);
    return CLI_OK;
}

static void run(struct worker *w, const json_t *message)
{
    switch (cli_job_run(w->crew, w->client, message)) {
    case CLI_JOB_DONE:
        atomic_fetch_add(&w->crew->done, 1);
        break;
    case CLI_JOB_FAILED:
        atomic_fetch_add(&w->crew->failed, 1);
        break;
    case CLI_JOB_IMPOSSIBLE:
        crew_stop(w->crew, CLI_FAILURE);
        break;
    }
}

/* One of the messages that --max leaves. */
static bool claim(struct cli_crew *crew)
{
    if (atomic_fetch_sub(&crew->left, 1) > 0)
        return true;
    atomic_fetch_add(&crew->left, 1);
    return false;
}

static void *worker_thread(void *self)
{
    struct worker *w = self;
    struct cli_crew *crew = w->crew;
    int64_t wait_s = crew->args->wait_s >= 0 ? crew->args->wait_s : WAIT_S_MAX;
    int pause_ms = 0;
    while (!cli_client_stopped(w->client) && claim(crew)) {
        json_t *message = NULL;
        enum cli_exit e = receive(w, wait_s, &message);
        if (message != NULL) {
            run(w, message);
            json_decref(message);
            pause_ms = 0;
            continue;
        }
        atomic_fetch_add(&crew->left, 1);
        if (e == CLI_UNAVAILABLE) { /* a broker that starts again is waited for */
            pause_ms = pause_ms == 0                 ? 100
                       : pause_ms * 2 < PAUSE_MS_MAX ? pause_ms * 2
                                                     : PAUSE_MS_MAX;
            cli_client_pause(w->client, pause_ms);
        } else if (e == CLI_OK && crew->args->until_empty) {
            break;
        } else if (e == CLI_OK && wait_s == 0) {
            cli_client_pause(w->client, 1000); /* not a flood of requests */
        } else if (e != CLI_OK && e != CLI_EMPTY) {
            crew_stop(crew, e);
        }
    }
    event_put(w->ended);
    return NULL;
}

/* ---- the crew ---- */

static void signal_heard(struct cli_crew *crew, int number, int presses)
{
    static const char *const texts[CLI_PRESSES] = {
        "stopping once the running commands have ended; a second signal is passed on to them",
        "passing the signal on to the running commands; a third one kills them",
        "killing the running commands",
    };
    if (presses >= CLI_PRESSES)
        return;
    cli_hint(crew->args, "%s", texts[presses]);
    atomic_store(&crew->signal, number);
    event_put(crew->presses[presses]);
}

/* Until all n workers have ended. True when a signal was the reason. */
static bool crew_wait(struct cli_crew *crew, int signals, int ended, int64_t n)
{
    int presses = 0;
    uint64_t count;
    while (n > 0) {
        struct pollfd fds[2] = {{.fd = ended, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
        (void)poll(fds, 2, -1);
        for (int number; fds[1].revents != 0 && (number = cli_signals_take(signals)) != 0;)
            signal_heard(crew, number, presses++);
        if (fds[0].revents != 0 && read(ended, &count, sizeof count) == (ssize_t)sizeof count)
            n -= (int64_t)count;
    }
    return presses > 0;
}

static enum cli_exit crew_run(struct cli_crew *crew, int signals)
{
    enum cli_exit why = CLI_OK;
    const struct pollfd stop = {.fd = crew->presses[0], .events = POLLIN};
    int ended = eventfd(0, EFD_CLOEXEC);
    int64_t n = crew->args->jobs;
    CHECK(ended >= 0);
    struct worker *workers = mem_new_array((size_t)n, sizeof *workers);
    for (int64_t i = 0; i < n; i++) {
        workers[i] = (struct worker){
            .crew = crew, .client = cli_client_new(crew->args, &why), .ended = ended};
        CHECK(workers[i].client != NULL); /* the address was good before */
        cli_client_watch(workers[i].client, &stop, 1);
        CHECK(pthread_create(&workers[i].thread, NULL, worker_thread, &workers[i]) == 0);
    }
    bool by_signal = crew_wait(crew, signals, ended, n);
    for (int64_t i = 0; i < n; i++) {
        CHECK(pthread_join(workers[i].thread, NULL) == 0);
        cli_client_free(workers[i].client);
    }
    mem_free(workers);
    close(ended);
    unsigned long done = atomic_load(&crew->done), failed = atomic_load(&crew->failed);
    if (done + failed > 0)
        cli_hint(crew->args, "%lu done, %lu not", done, failed);
    why = (enum cli_exit)atomic_load(&crew->why);
    if (why != CLI_OK)
        return why;
    return by_signal ? CLI_OK : cli_exit_of_many(done, failed, CLI_FAILURE);
}

/* How long a lease lasts: as the command line says, else as the topic does. */
static enum cli_exit visibility_get(const struct cli_args *args, struct cli_client *client,
                                    int64_t *seconds)
{
    json_t *reply;
    enum cli_exit e = cli_client_call(client, "GetQueueAttributes",
                                      json_pack("{s:s, s:[s]}", "QueueUrl", args->words[0],
                                                "AttributeNames", "VisibilityTimeout"),
                                      0, &reply);
    if (e != CLI_OK)
        return e;
    const char *text = json_string_value(
        json_object_get(json_object_get(reply, "Attributes"), "VisibilityTimeout"));
    *seconds = args->visibility_s;
    if (*seconds < 0 && (text == NULL || !cli_number_read(text, 1, CLI_SECONDS_MAX, seconds)))
        *seconds = VISIBILITY_S; /* a topic that leases for no time at all leaves it to us */
    json_decref(reply);
    return CLI_OK;
}

enum cli_exit cli_run_work(const struct cli_args *args, struct cli_client *client)
{
    if (args->words_n < 1)
        return cli_usage(args, "which topic?");
    if (args->words_n < 2)
        return cli_usage(args, "which command? It stands after a -- of its own");
    if (!args->dashes)
        return cli_usage(args, "put -- before the command, so that its options stay its own");
    if (args->visibility_s == 0)
        return cli_usage(args, "without any visibility two workers would get the same message");
    struct cli_crew crew = {.args = args, .topic = args->words[0], .command = args->words + 1};
    enum cli_exit e = visibility_get(args, client, &crew.visibility_s);
    if (e != CLI_OK)
        return e;
    atomic_store(&crew.left, args->max > 0 ? args->max : INT64_MAX / 2);
    int signals = cli_signals_open(&crew.mask);
    CHECK(signals >= 0);
    for (int i = 0; i < CLI_PRESSES; i++) {
        crew.presses[i] = eventfd(0, EFD_CLOEXEC);
        CHECK(crew.presses[i] >= 0);
    }
    e = crew_run(&crew, signals);
    for (int i = 0; i < CLI_PRESSES; i++)
        close(crew.presses[i]);
    close(signals);
    return e;
}
