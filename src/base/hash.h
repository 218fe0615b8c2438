// SPDX-License-Identifier: Apache-2.0
/* uthash, set up for this project. Its default hash warns under clang; and who may make topics may
 * make any names, so no hash is asked to withstand that. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#define HASH_FUNCTION(key, bytes, hash) HASH_FNV(key, bytes, hash)
#include <uthash.h>

#endif
