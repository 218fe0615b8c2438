// SPDX-License-Identifier: Apache-2.0
#include "base/err.h"

#include "base/check.h"

const char *err_text(enum err e)
{
    switch (e) {
    case ERR_OK:
        return "ok";
#define ERR(name, text)                                                                            \
    case ERR_##name:                                                                               \
        return text;
#include "errors.def"
#undef ERR
    }
    UNREACHABLE();
}
