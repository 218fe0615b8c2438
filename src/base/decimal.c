// SPDX-License-Identifier: Apache-2.0
#include "base/decimal.h"

#include <stddef.h>
#include <stdint.h>

enum { DIGITS_MAX = 38, EXPONENT_MAX = 126, EXPONENT_MIN = -128 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The digits of a number so far: its first and last that are not zero, counted from the decimal
 * point (ones are place 0, tenths -1). */
struct number {
    bool any;
    bool nonzero;
    bool one; /* its first digit is a 1 */
    int64_t first, last;
};

static size_t read_digits(const char *at, size_t n, int64_t place, int64_t step, struct number *out)
{
    size_t i = 0;
    for (; i < n && is_digit(at[i]); i++, place += step) {
        out->any = true;
        if (at[i] == '0')
            continue;
        if (!out->nonzero) {
            out->first = place;
            out->one = at[i] == '1';
        }
        out->last = place;
        out->nonzero = true;
    }
    return i;
}

/* The exponent behind `e`, all of the rest; far too large ones come out as merely too large. */
static bool read_exponent(const char *at, size_t n, int64_t *out)
{
    size_t i = n > 0 && (at[0] == '+' || at[0] == '-') ? 1 : 0;
    int64_t value = 0;
    if (i == n)
        return false;
    for (size_t k = i; k < n; k++) {
        if (!is_digit(at[k]))
            return false;
        if (value < 1 << 30)
            value = value * 10 + (at[k] - '0');
    }
    *out = i == 1 && at[0] == '-' ? -value : value;
    return true;
}

bool decimal_valid(struct bytes text)
{
    const char *at = text.at;
    size_t i = text.n > 0 && (at[0] == '+' || at[0] == '-') ? 1 : 0, whole = i;
    struct number number = {.any = false};
    int64_t exponent = 0;
    while (whole < text.n && is_digit(at[whole]))
        whole++;
    i += read_digits(at + i, whole - i, (int64_t)(whole - i) - 1, -1, &number);
    if (i < text.n && at[i] == '.') {
        i++;
        i += read_digits(at + i, text.n - i, -1, -1, &number);
    }
    if (!number.any)
        return false;
    if (i < text.n && (at[i] == 'e' || at[i] == 'E')) {
        if (!read_exponent(at + i + 1, text.n - i - 1, &exponent))
            return false;
        i = text.n;
    }
    if (i != text.n)
        return false;
    if (!number.nonzero)
        return true;
    int64_t size = number.first + exponent;
    return number.first - number.last < DIGITS_MAX && size >= EXPONENT_MIN &&
           (size < EXPONENT_MAX ||
            (size == EXPONENT_MAX && number.first == number.last && number.one));
}
