// SPDX-License-Identifier: Apache-2.0
/* Decimal numbers as SQS takes them in message attributes of type Number (developer guide, "Message
 * metadata"): they are kept as text, only looked at. */
#ifndef BASE_DECIMAL_H
#define BASE_DECIMAL_H

#include <stdbool.h>

#include "base/bytes.h"

/* [+-]digits[.digits][e[+-]digits]: at most 38 significant digits, between 1e-128 and 1e126. */
bool decimal_valid(struct bytes text);

#endif
