// SPDX-License-Identifier: Apache-2.0
/* What a request is refused with: one row of api/problems.def, a sentence about this case, and the
 * place in the request that is to blame. Pure. */
#ifndef REST_PROBLEM_H
#define REST_PROBLEM_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json_write.h"

enum rest_problem {
    REST_PROBLEM_NONE,
#define PROBLEM(id, name, status, title, advice) REST_PROBLEM_##id,
#include "problems.def"
#undef PROBLEM
    REST_PROBLEMS_N
};

struct rest_problem_row {
    const char *name; /* the end of its type, /problems/NAME */
    int status;
    const char *title;
    const char *advice; /* on its page */
};
const struct rest_problem_row *rest_problem_row(enum rest_problem p);
/* REST_PROBLEM_NONE: no problem has this name. */
enum rest_problem rest_problem_named(struct bytes name);

struct rest_fault {
    struct arena *arena;       /* for the texts; set before use */
    enum rest_problem problem; /* NONE: nothing is wrong so far */
    const char *detail;
    const char *kind;  /* "pointer", "parameter" or "header"; NULL: no place is to blame */
    const char *place; /* such as "/messages/3/delay" */
};

/* Both give false, so that a check can end with them. What is shown of the client's bytes need not
 * be UTF-8. */
bool rest_fault_set(struct rest_fault *f, enum rest_problem p, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool rest_fault_at(struct rest_fault *f, enum rest_problem p, const char *kind, const char *place,
                   const char *format, ...) __attribute__((format(printf, 5, 6)));
/* What an error of the core means to a client, where the operation has no better word for it. */
bool rest_fault_of_err(struct rest_fault *f, enum err e);

/* The problem as an object (RFC 9457). */
void rest_problem_put(struct json_writer *w, const struct rest_fault *f, const char *request_id);

#endif
