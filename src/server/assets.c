/* SPDX-License-Identifier: Apache-2.0 */
#include "server/assets.h"

#include <string.h>

const struct mete__asset *mete__asset_find(const char *path, size_t len)
{
    for (size_t i = 0; i < mete__asset_count; i++) {
        const struct mete__asset *asset = &mete__assets[i];
        if (strlen(asset->path) == len && memcmp(asset->path, path, len) == 0) {
            return asset;
        }
    }
    return NULL;
}
