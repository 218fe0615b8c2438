// SPDX-License-Identifier: Apache-2.0
#include "cli/job.h"
#include "cli/body.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/job_env.h"

extern char **environ;

/* What a shell answers for a command that it cannot run or cannot find. */
enum { NOT_RUNNABLE = 126, NOT_THERE = 127 };
enum { TRIES_MAX = 5, TRY_PAUSE_MS = 200 };

struct job {
    struct cli_crew *crew;
    struct cli_leases leases;
    struct clock clock;
    const char *receipt, *id;
    int64_t lease_ends_ms; /* by our own clock; it ends a little later at the broker */
    int64_t extend_ms;     /* when the lease is to be extended; INT64_MAX: never again */
    pid_t pid;             /* leads a process group of its own */
    int heard;             /* presses that this job knows of */
    bool lost;             /* the lease is over: what the command did may be done again */
};

/* ---- start ---- */

/* The body as a file in memory, at its beginning. Unlike a pipe it is never full, so the command
 * may read it when it likes or not at all. -1, with errno. */
static int body_open(const json_t *message)
{
    struct arena arena;
    arena_init(&arena, NULL, 0);
    struct bytes body = cli_message_body(message, &arena);
    const char *at = body.at;
    int fd = memfd_create("leaselog-message", MFD_CLOEXEC);
    for (size_t left = body.n; fd >= 0 && left > 0;) {
        ssize_t n = write(fd, at, left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            close(fd);
            fd = -1;
            break;
        }
        at += n;
        left -= (size_t)n;
    }
    arena_fini(&arena);
    if (fd >= 0)
        (void)lseek(fd, 0, SEEK_SET);
    return fd;
}

/* 0 or an errno. Signals are as at the worker's own start, and nothing but stdin, stdout and stderr
 * is inherited. A process group of its own keeps a terminal's Ctrl-C for the worker, which decides
 * what becomes of the command. */
static int spawn(struct job *j, int body, char **environment)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t defaults;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&how);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE); /* which we ignore */
    int e = posix_spawn_file_actions_adddup2(&files, body, STDIN_FILENO);
    if (e == 0)
        e = posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    posix_spawnattr_setsigdefault(&how, &defaults);
    posix_spawnattr_setsigmask(&how, &j->crew->mask);
    posix_spawnattr_setpgroup(&how, 0);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                       POSIX_SPAWN_SETSIGDEF);
    if (e == 0)
        e = posix_spawnp(&j->pid, j->crew->command[0], &files, &how, j->crew->command, environment);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    return e;
}

static int start(struct job *j, const json_t *message)
{
    struct cli_job_env env;
    int body = body_open(message);
    if (body < 0)
        return errno;
    cli_job_env_init(&env, environ, j->crew->topic, j->crew->args->server, message);
    int e = spawn(j, body, env.at);
    cli_job_env_fini(&env);
    close(body);
    return e;
}

/* ---- while it runs ---- */

static void lose(struct job *j, const char *why)
{
    cli_say("%s: %s; the command is told to stop, and the message stays", j->id, why);
    j->lost = true;
    j->extend_ms = INT64_MAX;
    (void)kill(-j->pid, SIGTERM);
}

static void extend(struct job *j)
{
    int64_t visibility_ms = j->crew->visibility_s * 1000, asked_ms = clock_boot_ms(&j->clock);
    if (j->leases.sqs_only && asked_ms >= j->lease_ends_ms) {
        /* SQS would apply it to the lease of whoever has the message now. */
        lose(j, "the lease has ended before it could be extended");
        return;
    }
    enum cli_exit e = cli_lease_set(&j->leases, j->receipt, j->crew->visibility_s);
    if (e == CLI_OK) {
        j->lease_ends_ms = asked_ms + visibility_ms;
        j->extend_ms = asked_ms + visibility_ms / 2;
    } else if (e == CLI_NOT_FOUND) {
        lose(j, "the lease is lost");
    } else if (e == CLI_UNAVAILABLE) {
        int64_t pause_ms = visibility_ms / 8;
        j->extend_ms = clock_boot_ms(&j->clock) + (pause_ms < 5000 ? pause_ms : 5000);
    } else { /* such as SQS's 12 hours in all; asking again changes nothing */
        cli_say("%s: the lease cannot be extended any further", j->id);
        j->extend_ms = INT64_MAX;
    }
}

/* The next press has come: the signal is passed on, or the command killed. */
static void pass_on(struct job *j)
{
    j->heard++;
    (void)kill(-j->pid, j->heard == CLI_PRESSES ? SIGKILL : atomic_load(&j->crew->signal));
}

/* Waits for the command's end, and gives its status as waitpid does. */
static int watch(struct job *j)
{
    int status = 0, pidfd = pidfd_open(j->pid, 0);
    CHECK(pidfd >= 0); /* Linux 5.3 has it, and the process is there until it is waited for */
    for (;;) {
        struct pollfd fds[2] = {{.fd = pidfd, .events = POLLIN}, {.fd = -1, .events = POLLIN}};
        int64_t now_ms = clock_boot_ms(&j->clock), left_ms = j->extend_ms - now_ms;
        if (left_ms <= 0) {
            extend(j);
            continue;
        }
        if (j->heard < CLI_PRESSES)
            fds[1].fd = j->crew->presses[j->heard];
        (void)poll(fds, 2, left_ms < 60000 ? (int)left_ms : 60000);
        if (fds[0].revents != 0)
            break;
        if (fds[1].revents != 0)
            pass_on(j);
    }
    close(pidfd);
    while (waitpid(j->pid, &status, 0) < 0)
        CHECK(errno == EINTR);
    return status;
}

/* ---- afterwards ---- */

static void give_back(struct job *j)
{
    int64_t delay_s = j->crew->args->retry_delay_s < 0 ? 0 : j->crew->args->retry_delay_s;
    if (j->leases.sqs_only && clock_boot_ms(&j->clock) >= j->lease_ends_ms)
        return; /* it is free already, and may be somebody else's */
    /* When this fails the message comes back at the end of its lease. */
    if (cli_lease_set(&j->leases, j->receipt, delay_s) == CLI_OK)
        cli_hint(j->crew->args, "%s: given back", j->id);
}

/* The work is done, so a broker that is away is worth some patience: without the delete it would be
 * done again. */
static enum cli_job_end finish(struct job *j)
{
    enum cli_exit e = CLI_UNAVAILABLE;
    for (int i = 0; i < TRIES_MAX && e == CLI_UNAVAILABLE; i++) {
        json_t *reply;
        if (i > 0)
            (void)poll(NULL, 0, TRY_PAUSE_MS << i);
        e = cli_client_call(
            j->leases.client, "DeleteMessage",
            json_pack("{s:s, s:s}", "QueueUrl", j->crew->topic, "ReceiptHandle", j->receipt), 0,
            &reply);
        if (e == CLI_OK)
            json_decref(reply);
    }
    if (e == CLI_OK)
        return CLI_JOB_DONE;
    cli_say("%s: done, but it could not be deleted, so it will come again", j->id);
    return CLI_JOB_FAILED;
}

static enum cli_job_end conclude(struct job *j, int status)
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (j->lost)
        return CLI_JOB_FAILED;
    if (j->heard > 1) {
        /* A command that ends well because it was told to may have left its work undone. */
        give_back(j);
        return CLI_JOB_FAILED;
    }
    if (code == 0)
        return finish(j);
    if (code == NOT_RUNNABLE || code == NOT_THERE) {
        cli_say("%s ended with exit %d, which says that a command cannot be %s",
                j->crew->command[0], code, code == NOT_THERE ? "found" : "run");
        give_back(j);
        return CLI_JOB_IMPOSSIBLE;
    }
    if (code > 0)
        cli_say("%s: %s ended with exit %d", j->id, j->crew->command[0], code);
    else
        cli_say("%s: %s was ended by signal %d", j->id, j->crew->command[0], WTERMSIG(status));
    give_back(j);
    return CLI_JOB_FAILED;
}

enum cli_job_end cli_job_run(struct cli_crew *crew, struct cli_client *client,
                             const json_t *message)
{
    struct job j = {
        .crew = crew,
        .leases = {crew->topic, client, atomic_load(&crew->sqs_only)},
        .clock = clock_system(),
        .receipt = json_string_value(json_object_get(message, "ReceiptHandle")) ?: "",
        .id = json_string_value(json_object_get(message, "MessageId")) ?: "",
        .heard = 1,
    };
    enum cli_job_end end;
    int64_t now_ms = clock_boot_ms(&j.clock);
    j.lease_ends_ms = now_ms + crew->visibility_s * 1000;
    j.extend_ms = now_ms + crew->visibility_s * 500;
    int e = start(&j, message);
    if (e == 0) {
        end = conclude(&j, watch(&j));
    } else {
        cli_say("%s: cannot start %s: %s", j.id, crew->command[0], strerror(e));
        give_back(&j);
        /* Too long an environment is this message's fault, all else would meet the next one too. */
        end = e == E2BIG ? CLI_JOB_FAILED : CLI_JOB_IMPOSSIBLE;
    }
    if (j.leases.sqs_only)
        atomic_store(&crew->sqs_only, true);
    return end;
}
