// SPDX-License-Identifier: Apache-2.0
#include "cli/text.h"

#include <stdio.h>
#include <string.h>

bool cli_number_read(const char *text, int64_t min, int64_t max, int64_t *out)
{
    int64_t v = 0;
    size_t n = strspn(text, "0123456789");
    if (n == 0 || n > 15 || text[n] != '\0') /* 15 digits cannot overflow */
        return false;
    for (size_t i = 0; i < n; i++)
        v = v * 10 + (text[i] - '0');
    if (v < min || v > max)
        return false;
    *out = v;
    return true;
}

bool cli_millis_read(const char *text, int64_t min, int64_t max, int64_t *out)
{
    char digits[16];
    size_t whole = strspn(text, "0123456789"), part = 0;
    if (whole == 0 || whole > 9)
        return false;
    memcpy(digits, text, whole);
    memcpy(digits + whole, "000", 4);
    if (text[whole] == '.') {
        part = strspn(text + whole + 1, "0123456789");
        if (part == 0 || part > 3)
            return false;
        memcpy(digits + whole, text + whole + 1, part);
        part++;
    }
    return text[whole + part] == '\0' && cli_number_read(digits, min, max, out);
}

bool cli_seconds_read(const char *text, int64_t *seconds)
{
    static const char units[] = "smhd";
    static const int64_t unit_seconds[] = {1, 60, 3600, 86400};
    char digits[16];
    int64_t count, unit = 1;
    size_t n = strspn(text, "0123456789");
    if (n == 0 || n >= sizeof digits)
        return false;
    if (text[n] != '\0') {
        const char *found = strchr(units, text[n]);
        if (found == NULL || text[n + 1] != '\0')
            return false;
        unit = unit_seconds[found - units];
    }
    memcpy(digits, text, n);
    digits[n] = '\0';
    if (!cli_number_read(digits, 0, CLI_SECONDS_MAX / unit, &count))
        return false;
    *seconds = count * unit;
    return true;
}

bool cli_pair_read(const char *text, struct cli_pair *out)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text)
        return false;
    size_t name_n = (size_t)(equals - text);
    const char *colon = memchr(text, ':', name_n);
    struct cli_pair pair = {{text, name_n}, BYTES_NONE, equals + 1};
    if (colon != NULL) {
        pair.name.n = (size_t)(colon - text);
        pair.type = (struct bytes){colon + 1, (size_t)(equals - colon - 1)};
        if (pair.name.n == 0 || pair.type.n == 0)
            return false;
    }
    *out = pair;
    return true;
}

enum { WORD_MAX = 40, FAR = 99 };

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Optimal string alignment: Levenshtein's distance, and a swap of neighbours counts one. */
int cli_word_distance(const char *a, const char *b)
{
    int cost[WORD_MAX + 1][WORD_MAX + 1];
    size_t a_n = strlen(a), b_n = strlen(b);
    if (a_n > WORD_MAX || b_n > WORD_MAX)
        return FAR;
    for (size_t i = 0; i <= a_n; i++)
        cost[i][0] = (int)i;
    for (size_t k = 0; k <= b_n; k++)
        cost[0][k] = (int)k;
    for (size_t i = 1; i <= a_n; i++)
        for (size_t k = 1; k <= b_n; k++) {
            int replaced = cost[i - 1][k - 1] + (a[i - 1] != b[k - 1]);
            int best = least(replaced, least(cost[i - 1][k], cost[i][k - 1]) + 1);
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                best = least(best, cost[i - 2][k - 2] + 1);
            cost[i][k] = best;
        }
    return cost[a_n][b_n];
}

/* Near enough: a third of the word may be wrong, and at least one letter of any word. A beginning
 * of two letters or more is meant, too. */
const char *cli_word_nearest(const char *word, const char *const *words, size_t n)
{
    const char *best = NULL;
    size_t word_n = strlen(word);
    int best_distance = word_n < 6 ? 2 : (int)word_n / 3 + 1; /* one more than is allowed */
    if (word_n > 3 && best_distance < 3)
        best_distance = 3;
    for (size_t i = 0; i < n; i++) {
        int distance = cli_word_distance(word, words[i]);
        if (word_n >= 2 && strncmp(word, words[i], word_n) == 0)
            distance = least(distance, 1);
        if (distance < best_distance) {
            best = words[i];
            best_distance = distance;
        }
    }
    return best;
}

void cli_shell_quote(struct buf *out, struct bytes text)
{
    const char *at = text.at;
    buf_put_text(out, "'");
    for (size_t i = 0; i < text.n; i++) {
        if (at[i] == '\'')
            buf_put_text(out, "'\\''");
        else
            buf_put(out, &at[i], 1);
    }
    buf_put_text(out, "'");
}

void cli_url_quote(struct buf *out, struct bytes text)
{
    const unsigned char *at = text.at;
    for (size_t i = 0; i < text.n; i++) {
        bool plain = (at[i] >= '0' && at[i] <= '9') || ((at[i] | 32) >= 'a' && (at[i] | 32) <= 'z');
        if (plain || (at[i] != 0 && strchr("-_.~", at[i]) != NULL))
            buf_put_u8(out, at[i]);
        else
            buf_put_format(out, "%%%02X", at[i]);
    }
}

/* Bytes of the character at `at`, by its first byte; 1 for what is no UTF-8. */
static size_t character_bytes(const unsigned char *at, size_t left)
{
    size_t n = at[0] < 0xc2 ? 1 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : at[0] < 0xf5 ? 4 : 1;
    if (n > left)
        return 1;
    for (size_t i = 1; i < n; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 1;
    return n;
}

size_t cli_line_quote(struct buf *out, struct bytes text, size_t most)
{
    const unsigned char *at = text.at;
    size_t put = 0;
    for (size_t i = 0, n; i < text.n; i += n) {
        char shown[8];
        n = character_bytes(at + i, text.n - i);
        /* U+0080 to U+009F command a terminal as well as those below the blank do. */
        bool control =
            n == 1 ? at[i] < 0x20 || at[i] >= 0x7f : n == 2 && at[i] == 0xc2 && at[i + 1] < 0xa0;
        unsigned value = n == 2 ? at[i + 1] : at[i];
        if (at[i] == '\n' || at[i] == '\t' || at[i] == '\r' || at[i] == '\\')
            (void)snprintf(shown, sizeof shown, "\\%c",
                           at[i] == '\n'   ? 'n'
                           : at[i] == '\t' ? 't'
                           : at[i] == '\r' ? 'r'
                                           : '\\');
        else if (control)
            (void)snprintf(shown, sizeof shown, "\\x%02x", value);
        else
            (void)snprintf(shown, sizeof shown, "%.*s", (int)n, (const char *)at + i);
        size_t wide = control || at[i] == '\\' ? strlen(shown) : 1;
        if (put + wide > most || (put + wide == most && i + n < text.n)) {
            buf_put_text(out, "…");
            return put + 1;
        }
        buf_put_text(out, shown);
        put += wide;
    }
    return put;
}
