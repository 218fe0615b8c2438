// SPDX-License-Identifier: Apache-2.0
/* The ways things fail. A function that can fail returns enum err and hands its result out through
 * its last parameter, which it writes only when it returns ERR_OK. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

enum err {
    ERR_OK = 0,
#define ERR(name, text) ERR_##name,
#include "errors.def"
#undef ERR
};

/* A sentence for people, never NULL. */
const char *err_text(enum err e);

#endif
