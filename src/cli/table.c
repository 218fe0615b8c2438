// SPDX-License-Identifier: Apache-2.0
#include "cli/table.h"

#include <stdio.h>
#include <string.h>

#include "cli/text.h"

enum { PAGE_MAX = 1000 }; /* the REST API's */

/* Appends the value's text, and gives how many characters it has. */
static size_t cell_put(struct buf *out, const json_t *value)
{
    char number[32];
    if (json_is_string(value) && json_string_length(value) > 0) {
        struct bytes text = {json_string_value(value), json_string_length(value)};
        return cli_line_quote(out, text, CLI_CELL_MAX);
    }
    if (json_is_integer(value))
        (void)snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        (void)snprintf(number, sizeof number, "%.1f", json_real_value(value));
    else
        (void)snprintf(number, sizeof number, "%s",
                       json_is_true(value)    ? "yes"
                       : json_is_false(value) ? "no"
                                              : "-");
    buf_put_text(out, number);
    return strlen(number);
}

static const json_t *value_of(const struct cli_column *column, const char *within,
                              const json_t *row)
{
    const json_t *value = json_object_get(row, column->member);
    if (value == NULL && within != NULL)
        value = json_object_get(json_object_get(row, within), column->member);
    return value;
}

static void blanks_print(size_t n)
{
    printf("%*s", (int)n, "");
}

static void cell_print(const struct buf *text, size_t wide, size_t width, bool right, bool last)
{
    if (right)
        blanks_print(width - wide);
    fwrite(text->n == 0 ? "" : text->at, 1, text->n, stdout);
    if (last)
        putchar('\n');
    else
        blanks_print((right ? 0 : width - wide) + 2);
}

void cli_table_print(const struct cli_column *columns, size_t columns_n, const char *within,
                     const json_t *rows)
{
    size_t widths[CLI_COLUMNS_MAX], i;
    struct buf text = BUF_EMPTY;
    json_t *row;
    CHECK(columns_n <= CLI_COLUMNS_MAX);
    for (size_t k = 0; k < columns_n; k++) {
        widths[k] = strlen(columns[k].title);
        json_array_foreach(rows, i, row)
        {
            buf_clear(&text);
            size_t wide = cell_put(&text, value_of(&columns[k], within, row));
            if (wide > widths[k])
                widths[k] = wide;
        }
    }
    for (size_t k = 0; k < columns_n; k++) {
        buf_clear(&text);
        buf_put_text(&text, columns[k].title);
        cell_print(&text, text.n, widths[k], columns[k].right, k + 1 == columns_n);
    }
    json_array_foreach(rows, i, row)
    {
        for (size_t k = 0; k < columns_n; k++) {
            buf_clear(&text);
            size_t wide = cell_put(&text, value_of(&columns[k], within, row));
            cell_print(&text, wide, widths[k], columns[k].right, k + 1 == columns_n);
        }
    }
    buf_fini(&text);
}

/* One page: moves its entries to `rows` and puts the place of the next one, if any, into cursor. */
static enum cli_exit page_get(struct cli_client *client, const char *path, const char *member,
                              int64_t most, json_t *rows, struct buf *cursor)
{
    json_t *reply, *entry;
    size_t i;
    buf_clear(cursor);
    enum cli_exit e = cli_client_rest(client, "GET", path, NULL, &reply, NULL);
    if (e != CLI_OK)
        return e;
    json_t *list = json_object_get(reply, member);
    const char *next = json_string_value(json_object_get(reply, "next_cursor"));
    if (!json_is_array(list)) {
        cli_say("the answer has no list of %s", member);
        e = CLI_FAILURE;
    }
    json_array_foreach(list, i, entry) if ((int64_t)json_array_size(rows) < most)
        json_array_append(rows, entry);
    if (next != NULL)
        buf_put_text(cursor, next);
    json_decref(reply);
    return e;
}

enum cli_exit cli_pages_get(struct cli_client *client, const struct buf *path, const char *member,
                            int64_t most, json_t **rows)
{
    struct buf page = BUF_EMPTY, cursor = BUF_EMPTY;
    json_t *all = json_array();
    bool paged = most >= 0, query = path->n > 0 && memchr(path->at, '?', path->n) != NULL;
    int64_t left = paged ? most : INT64_MAX;
    const int64_t end = left;
    enum cli_exit e = CLI_OK;
    do {
        buf_clear(&page);
        buf_put_bytes(&page, buf_bytes(path));
        if (paged)
            buf_put_format(&page, "%climit=%lld", query ? '&' : '?',
                           (long long)(left < PAGE_MAX ? left : PAGE_MAX));
        if (cursor.n > 0) {
            buf_put_text(&page, "&cursor=");
            cli_url_quote(&page, buf_bytes(&cursor));
        }
        buf_put_u8(&page, 0);
        e = page_get(client, page.at, member, end, all, &cursor);
        left = end - (int64_t)json_array_size(all);
    } while (e == CLI_OK && left > 0 && paged && cursor.n > 0);
    buf_fini(&page);
    buf_fini(&cursor);
    if (e == CLI_OK)
        *rows = all;
    else
        json_decref(all);
    return e;
}

void cli_topic_path(struct buf *path, const char *topic, const char *rest)
{
    buf_clear(path);
    buf_put_text(path, "/v1/topics/");
    cli_url_quote(path, bytes_of_text(topic));
    buf_put_text(path, rest);
}
