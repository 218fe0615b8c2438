// SPDX-License-Identifier: Apache-2.0
/* Memory that is there or the process ends. Memory is bounded by admission (limits on connections,
 * bodies, messages in flight), so running out of it is a mistake of ours, not an error to handle.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

/* n bytes of zeros; never NULL. Freed with mem_free. */
void *mem_new(size_t n);
void *mem_new_array(size_t count, size_t size);
/* As realloc; new bytes are not cleared. */
void *mem_resize(void *at, size_t n);
void mem_free(void *at);
char *mem_copy_text(const char *text);

#endif
