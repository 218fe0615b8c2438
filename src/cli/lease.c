// SPDX-License-Identifier: Apache-2.0
/* leaselog delete, extend and release. */
#include "cli/lease.h"

#include <stdio.h>
#include <string.h>

#include "cli/input.h"
#include "cli/run.h"
#include "cli/text.h"

enum { BATCH_MAX = 10 }; /* SQS: entries of a batch */

/* ---- delete ---- */

void cli_deletion_begin(struct cli_deletion *d, const char *topic, struct cli_client *client)
{
    *d = (struct cli_deletion){.topic = topic, .client = client, .entries = json_array()};
}

/* The Failed entries of a batch's answer on stderr; `first` is the number of the batch's first
 * receipt. Gives how many there are. */
static unsigned long failed_print(const json_t *reply, unsigned long first)
{
    size_t i;
    json_t *entry, *failed = json_object_get(reply, "Failed");
    json_array_foreach(failed, i, entry)
    {
        int64_t index = 0;
        const char *id = json_string_value(json_object_get(entry, "Id"));
        (void)(id != NULL && cli_number_read(id, 0, BATCH_MAX - 1, &index));
        cli_say("receipt %lu: %s: %s", first + (unsigned long)index,
                json_string_value(json_object_get(entry, "Code")) ?: "failed",
                json_string_value(json_object_get(entry, "Message")) ?: "");
    }
    return json_array_size(failed);
}

static enum cli_exit deletion_flush(struct cli_deletion *d)
{
    json_t *reply;
    size_t n = json_array_size(d->entries);
    if (n == 0)
        return CLI_OK;
    json_t *request = json_pack("{s:s, s:o}", "QueueUrl", d->topic, "Entries", d->entries);
    d->entries = json_array();
    enum cli_exit e = cli_client_call(d->client, "DeleteMessageBatch", request, 0, &reply);
    if (e != CLI_OK) {
        d->failed += n;
        return e;
    }
    unsigned long failed = failed_print(reply, d->deleted + d->failed + 1);
    d->failed += failed;
    d->deleted += failed < n ? n - failed : 0;
    json_decref(reply);
    return CLI_OK;
}

enum cli_exit cli_deletion_add(struct cli_deletion *d, json_t *receipt)
{
    char id[8];
    if (receipt == NULL) {
        cli_say("a receipt is not UTF-8");
        d->failed++;
        return CLI_OK;
    }
    (void)snprintf(id, sizeof id, "%zu", json_array_size(d->entries));
    json_array_append_new(d->entries, json_pack("{s:s, s:o}", "Id", id, "ReceiptHandle", receipt));
    return json_array_size(d->entries) == BATCH_MAX ? deletion_flush(d) : CLI_OK;
}

enum cli_exit cli_deletion_end(struct cli_deletion *d, enum cli_exit e)
{
    if (e == CLI_OK)
        e = deletion_flush(d);
    json_decref(d->entries);
    return cli_exit_of_many(d->deleted, d->failed, e != CLI_OK ? e : CLI_FAILURE);
}

/* Calls f for each receipt among the words from the second on, or on each line of stdin. */
static enum cli_exit receipts_each(const struct cli_args *args, unsigned long *failed, void *self,
                                   enum cli_exit (*f)(void *self, struct bytes receipt))
{
    enum cli_exit e = CLI_OK;
    if (args->words_n != 2 || strcmp(args->words[1], "-") != 0) {
        for (int i = 1; i < args->words_n && e == CLI_OK; i++)
            e = f(self, bytes_of_text(args->words[i]));
        return e;
    }
    struct buf line = BUF_EMPTY;
    enum err read = ERR_OK;
    while (e == CLI_OK && (read = cli_input_line(&line)) == ERR_OK)
        if (line.n > 0)
            e = f(self, buf_bytes(&line));
    if (read == ERR_IO || read == ERR_TOO_BIG) {
        cli_say("cannot read the receipts from stdin");
        ++*failed;
    }
    buf_fini(&line);
    return e;
}

static enum cli_exit delete_one(void *self, struct bytes receipt)
{
    return cli_deletion_add(self, json_stringn(receipt.at, receipt.n));
}

enum cli_exit cli_run_delete(const struct cli_args *args, struct cli_client *client)
{
    struct cli_deletion d;
    if (args->words_n < 2)
        return cli_usage(args, "which topic, and which receipts?");
    cli_deletion_begin(&d, args->words[0], client);
    return cli_deletion_end(&d, receipts_each(args, &d.failed, &d, delete_one));
}

/* ---- extend and release ---- */

static enum cli_exit set_by_sqs(struct cli_leases *l, const char *receipt, int64_t seconds)
{
    json_t *reply;
    json_t *request = json_pack("{s:s, s:s, s:I}", "QueueUrl", l->topic, "ReceiptHandle", receipt,
                                "VisibilityTimeout", (json_int_t)seconds);
    enum cli_exit e = cli_client_call(l->client, "ChangeMessageVisibility", request, 0, &reply);
    if (e == CLI_OK)
        json_decref(reply);
    return e;
}

/* Whether a refusal speaks of the lease, and not of a path or method that the server has not. */
static bool tells_of_lease(const struct cli_fault *fault)
{
    static const char *const codes[] = {"lease_expired", "receipt_invalid", "topic_not_found",
                                        "group_not_found"};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (strcmp(fault->code, codes[i]) == 0)
            return true;
    return false;
}

enum cli_exit cli_lease_set(struct cli_leases *l, const char *receipt, int64_t seconds)
{
    struct buf path = BUF_EMPTY;
    struct cli_fault fault;
    if (l->sqs_only)
        return set_by_sqs(l, receipt, seconds);
    buf_put_text(&path, "/v1/topics/");
    cli_url_quote(&path, bytes_of_text(l->topic));
    buf_put_text(&path, "/groups/default/leases/");
    cli_url_quote(&path, bytes_of_text(receipt));
    buf_put_u8(&path, 0);
    json_t *request = json_pack("{s:I}", "visibility", (json_int_t)seconds);
    enum cli_exit e = cli_client_rest(l->client, "PATCH", path.at, request, NULL, &fault);
    buf_fini(&path);
    if (e == CLI_OK || fault.status == 0)
        return e;
    if (!tells_of_lease(&fault) && (fault.status == 404 || fault.status == 405)) {
        l->sqs_only = true;
        return set_by_sqs(l, receipt, seconds);
    }
    return cli_fault_say(&fault);
}

/* What becomes of several receipts. */
struct release {
    struct cli_leases leases;
    int64_t delay_s;
    unsigned long number, released, failed;
    enum cli_exit first; /* of those that failed */
};

static enum cli_exit release_one(void *self, struct bytes bytes)
{
    struct release *r = self;
    char receipt[1025];
    r->number++;
    if (bytes.n >= sizeof receipt) {
        cli_say("receipt %lu is longer than any receipt", r->number);
        r->failed++;
        return CLI_OK;
    }
    memcpy(receipt, bytes.at, bytes.n);
    receipt[bytes.n] = '\0';
    enum cli_exit e = cli_lease_set(&r->leases, receipt, r->delay_s);
    if (e == CLI_OK) {
        r->released++;
        return CLI_OK;
    }
    cli_say("receipt %lu was not released", r->number);
    if (r->failed++ == 0)
        r->first = e;
    /* The others may still be good. */
    return e == CLI_NOT_FOUND || e == CLI_FAILURE ? CLI_OK : e;
}

enum cli_exit cli_run_release(const struct cli_args *args, struct cli_client *client)
{
    if (args->words_n < 2)
        return cli_usage(args, "which topic, and which receipts?");
    struct release r = {.leases = {.topic = args->words[0], .client = client},
                        .first = CLI_FAILURE,
                        .delay_s = args->delay_s < 0 ? 0 : args->delay_s};
    enum cli_exit e = receipts_each(args, &r.failed, &r, release_one);
    return cli_exit_of_many(r.released, r.failed, e != CLI_OK ? e : r.first);
}

enum cli_exit cli_run_extend(const struct cli_args *args, struct cli_client *client)
{
    int64_t seconds;
    if (args->words_n != 3)
        return cli_usage(args, "which topic, which receipt, and for how long?");
    if (!cli_seconds_read(args->words[2], &seconds))
        return cli_usage(args, "the last word is a time, such as 30s, 5m or 2h");
    struct cli_leases leases = {.topic = args->words[0], .client = client};
    enum cli_exit e = cli_lease_set(&leases, args->words[1], seconds);
    if (e == CLI_OK)
        cli_hint(args, "the message is yours for %lld s from now", (long long)seconds);
    return e;
}
