/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

struct mete__hash mete__hash_long_key(const struct mete__secret *secret, const void *key, size_t key_len)
{
    XXH128_hash_t hash = XXH3_128bits_withSecret(key, key_len, secret->bytes, METE__SECRET_SIZE);
    return (struct mete__hash){hash.low64, hash.high64};
}
