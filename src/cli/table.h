// SPDX-License-Identifier: Apache-2.0
/* Rows for people, in columns as wide as they need; and what lists of the REST API have in common.
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "cli/client.h"

/* What a column shows of an object. */
struct cli_column {
    const char *title;
    const char *member; /* of the object, or of the object in its member `within` */
    bool right;         /* numbers */
};
enum { CLI_COLUMNS_MAX = 8, CLI_CELL_MAX = 80 };

/* One line for each object in `rows`, under a line of titles. `within` may be NULL. Texts are shown
 * as cli_line_quote shows them; a member that is missing or empty is "-". */
void cli_table_print(const struct cli_column *columns, size_t columns_n, const char *within,
                     const json_t *rows);

/* Follows next_cursor from `path`, which may have a query, until the array `member` of the answers
 * has `most` entries in all; negative for lists that come whole, without pages. On CLI_OK *rows is
 * all of them in one array, which the caller decrefs.
 */
enum cli_exit cli_pages_get(struct cli_client *client, const struct buf *path, const char *member,
                            int64_t most, json_t **rows);

/* "/v1/topics/TOPIC" and `rest`, into a clear buf, with no NUL. */
void cli_topic_path(struct buf *path, const char *topic, const char *rest);

#endif
