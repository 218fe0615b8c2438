// SPDX-License-Identifier: Apache-2.0
#include "sqs/policy.h"

#include <jansson.h>
#include <string.h>

#include "base/check.h"
#include "sqs/name.h"

/* Limits of the developer guide ("Amazon SQS policy quotas"). */
enum { ACTIONS_MAX = 7, STATEMENTS_MAX = 20, PRINCIPALS_MAX = 50, ACCOUNT_DIGITS = 12 };

/* What may be allowed to others. The batch actions go with the single ones and are not named. */
static const char *const shared_actions[] = {
    "*",           "ChangeMessageVisibility",    "DeleteMessage", "GetQueueAttributes",
    "GetQueueUrl", "ListDeadLetterSourceQueues", "PurgeQueue",    "ReceiveMessage",
    "SendMessage",
};
static const char *const owner_actions[] = {
    "AddPermission",        "CancelMessageMoveTask", "CreateQueue", "DeleteQueue",
    "ListMessageMoveTasks", "ListQueueTags",         "ListQueues",  "RemovePermission",
    "SetQueueAttributes",   "StartMessageMoveTask",  "TagQueue",    "UntagQueue",
};

/* ---- what a request asks for ---- */

static bool is_one_of(struct bytes name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bytes_equal(name, bytes_of_text(names[i])))
            return true;
    return false;
}

static bool check_action(struct bytes action, struct sqs_fault *f)
{
    if (is_one_of(action, shared_actions, sizeof shared_actions / sizeof shared_actions[0]))
        return true;
    bool owners = is_one_of(action, owner_actions, sizeof owner_actions / sizeof owner_actions[0]);
    return sqs_fault_set(f, SQS_FAULT_INVALID_PARAMETER_VALUE,
                         "Value SQS:%.*s for parameter ActionName is invalid. Reason: %s",
                         SQS_SHOW(action),
                         owners ? "Only the queue owner is allowed to invoke this action."
                                : "Please refer to the appropriate WSDL for a list of valid "
                                  "actions.");
}

static bool check_account(struct bytes account, struct sqs_fault *f)
{
    bool digits = account.n == ACCOUNT_DIGITS;
    for (size_t i = 0; digits && i < account.n; i++)
        digits = ((const char *)account.at)[i] >= '0' && ((const char *)account.at)[i] <= '9';
    if (digits)
        return true;
    return sqs_fault_set(f, SQS_FAULT_INVALID_PARAMETER_VALUE,
                         "Value %.*s for parameter PrincipalId is invalid. Reason: Unable to "
                         "verify. An account is written as 12 digits.",
                         SQS_SHOW(account));
}

bool sqs_permission_check(const struct sqs_permission *p, struct sqs_fault *f)
{
    if (!sqs_entry_id_valid(p->label))
        return sqs_fault_set(f, SQS_FAULT_INVALID_PARAMETER_VALUE,
                             "Value %.*s for parameter Label is invalid. Reason: Can only include "
                             "alphanumeric characters, hyphens, or underscores. 1 to 80 in length.",
                             SQS_SHOW(p->label));
    if (p->actions->n == 0)
        return sqs_fault_set(f, SQS_FAULT_MISSING_PARAMETER,
                             "The request must contain the parameter ActionName.");
    if (p->actions->n > ACTIONS_MAX)
        return sqs_fault_set(f, SQS_FAULT_OVER_LIMIT,
                             "%zu Actions were found, maximum allowed is %d.", p->actions->n,
                             ACTIONS_MAX);
    for (size_t i = 0; i < p->actions->n; i++)
        if (!check_action(p->actions->at[i], f))
            return false;
    for (size_t i = 0; i < p->accounts->n; i++)
        if (!check_account(p->accounts->at[i], f))
            return false;
    return true;
}

/* ---- the document ---- */

static json_t *text_of(struct buf *b)
{
    json_t *text = json_stringn(b->n == 0 ? "" : (const char *)b->at, b->n);
    CHECK(text != NULL); /* all of it was checked to be UTF-8 */
    buf_fini(b);
    return text;
}

/* A single value stands by itself, several are a list. */
static json_t *one_or_many(const char *prefix, const struct sqs_texts *values, const char *suffix)
{
    json_t *list = json_array();
    for (size_t i = 0; i < values->n; i++) {
        struct buf b = BUF_EMPTY;
        buf_put_text(&b, prefix);
        buf_put_bytes(&b, values->at[i]);
        buf_put_text(&b, suffix);
        CHECK(json_array_append_new(list, text_of(&b)) == 0);
    }
    if (values->n != 1)
        return list;
    json_t *one = json_incref(json_array_get(list, 0));
    json_decref(list);
    return one;
}

static json_t *arn_of(const struct sqs_place *place, struct bytes queue, const char *suffix)
{
    struct buf b = BUF_EMPTY;
    sqs_arn_put(&b, place, queue);
    buf_put_text(&b, suffix);
    return text_of(&b);
}

static json_t *statement_of(const struct sqs_permission *p, const struct sqs_place *place)
{
    json_t *statement = json_pack(
        "{s:s%, s:s, s:{s:o}, s:o, s:o}", "Sid", (const char *)p->label.at, p->label.n, "Effect",
        "Allow", "Principal", "AWS", one_or_many("arn:aws:iam::", p->accounts, ":root"), "Action",
        one_or_many("SQS:", p->actions, ""), "Resource", arn_of(place, p->queue, ""));
    CHECK(statement != NULL);
    return statement;
}

/* The policy now, or one without statements; its Statement is made a list. */
static json_t *load(const char *policy, const struct sqs_place *place, struct bytes queue)
{
    json_t *root = policy == NULL ? NULL : json_loads(policy, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(root)) {
        json_decref(root);
        root = json_pack("{s:s, s:o, s:[]}", "Version", "2008-10-17", "Id",
                         arn_of(place, queue, "/SQSDefaultPolicy"), "Statement");
    }
    CHECK(root != NULL);
    json_t *statements = json_object_get(root, "Statement");
    if (!json_is_array(statements)) {
        json_t *list = json_array();
        if (statements != NULL)
            CHECK(json_array_append(list, statements) == 0);
        CHECK(json_object_set_new(root, "Statement", list) == 0);
    }
    return root;
}

/* The place of the statement with this label, or the number of statements. */
static size_t find(const json_t *statements, struct bytes label)
{
    size_t i, n = json_array_size(statements);
    for (i = 0; i < n; i++) {
        const json_t *sid = json_object_get(json_array_get(statements, i), "Sid");
        struct bytes text = {json_string_value(sid), json_string_length(sid)};
        if (json_is_string(sid) && bytes_equal(text, label))
            break;
    }
    return i;
}

static size_t principals(const json_t *statements)
{
    size_t i, n = 0;
    const json_t *statement;
    json_array_foreach(statements, i, statement)
    {
        const json_t *who = json_object_get(json_object_get(statement, "Principal"), "AWS");
        n += json_is_array(who) ? json_array_size(who) : 1;
    }
    return n;
}

static int into_buf(const char *at, size_t n, void *self)
{
    buf_put(self, at, n);
    return 0;
}

/* Takes root. */
static void store(json_t *root, struct buf *out)
{
    CHECK(json_dump_callback(root, into_buf, out, JSON_COMPACT) == 0);
    json_decref(root);
}

static bool check_limits(json_t *statements, struct sqs_fault *f)
{
    size_t n = json_array_size(statements), who = principals(statements);
    if (n > STATEMENTS_MAX)
        return sqs_fault_set(f, SQS_FAULT_OVER_LIMIT,
                             "%zu Statements were found, maximum allowed is %d.", n,
                             STATEMENTS_MAX);
    if (who > PRINCIPALS_MAX)
        return sqs_fault_set(f, SQS_FAULT_OVER_LIMIT,
                             "%zu Principals were found, maximum allowed is %d.", who,
                             PRINCIPALS_MAX);
    return true;
}

bool sqs_policy_add(const char *policy, const struct sqs_permission *p,
                    const struct sqs_place *place, struct buf *out, struct sqs_fault *f)
{
    json_t *root = load(policy, place, p->queue);
    json_t *statements = json_object_get(root, "Statement");
    if (find(statements, p->label) < json_array_size(statements)) {
        json_decref(root);
        return sqs_fault_set(f, SQS_FAULT_INVALID_PARAMETER_VALUE,
                             "Value %.*s for parameter Label is invalid. Reason: Already exists.",
                             SQS_SHOW(p->label));
    }
    CHECK(json_array_append_new(statements, statement_of(p, place)) == 0);
    if (!check_limits(statements, f)) {
        json_decref(root);
        return false;
    }
    struct buf text = BUF_EMPTY;
    store(root, &text);
    bool fine = sqs_policy_check(buf_bytes(&text), f); /* its bytes */
    if (fine)
        buf_put_bytes(out, buf_bytes(&text));
    buf_fini(&text);
    return fine;
}

bool sqs_policy_remove(const char *policy, struct bytes label, struct buf *out, struct sqs_fault *f)
{
    static const struct sqs_place nowhere = {{"", 0}, {"", 0}}; /* not shown: there is a policy */
    const char *where = policy == NULL ? "" : " on existing policy";
    json_t *root = load(policy, &nowhere, BYTES_NONE);
    json_t *statements = json_object_get(root, "Statement");
    size_t i = find(statements, label);
    if (i == json_array_size(statements)) {
        json_decref(root);
        return sqs_fault_set(f, SQS_FAULT_INVALID_PARAMETER_VALUE,
                             "Value %.*s for parameter Label is invalid. Reason: can't find "
                             "label%s.",
                             SQS_SHOW(label), where);
    }
    CHECK(json_array_remove(statements, i) == 0);
    if (json_array_size(statements) > 0)
        store(root, out);
    else
        json_decref(root);
    return true;
}
