/* SPDX-License-Identifier: Apache-2.0 */
#include "tzif.h"

#include <stdlib.h>
#include <string.h>

void tzif_put(struct tzif *file, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        file->bytes[file->len++] = (unsigned char)(value >> 8 * (size - 1 - i));
    }
}

void tzif_put_header(struct tzif *file, char version, uint32_t leaps, uint32_t times, uint32_t types)
{
    memcpy(file->bytes + file->len, "TZif", 4);
    file->bytes[file->len + 4] = (unsigned char)version;
    memset(file->bytes + file->len + 5, 0, 15);
    file->len += 20;
    const uint32_t counts[6] = {0, 0, leaps, times, types, 4};
    for (size_t i = 0; i < 6; i++) {
        tzif_put(file, counts[i], 4);
    }
}

void tzif_put_body(struct tzif *file, size_t time_size, const struct tzif_change *changes, size_t changes_count,
                   const int32_t *offsets, size_t offsets_count)
{
    for (size_t i = 0; i < changes_count; i++) {
        tzif_put(file, (uint64_t)changes[i].at_s, time_size);
    }
    for (size_t i = 0; i < changes_count; i++) {
        tzif_put(file, changes[i].type, 1);
    }
    for (size_t i = 0; i < offsets_count; i++) {
        tzif_put(file, (uint32_t)offsets[i], 4);
        tzif_put(file, 0, 2);
    }
    tzif_put(file, 0x58585800, 4); /* "XXX" */
}

const int32_t tzif_offsets[3] = {-1234, 3600, 7200};
const struct tzif_change tzif_changes[3] = {{-1000, 1}, {1000, 2}, {2000, 1}};

struct tzif tzif_v2(const struct tzif_change *changes, size_t count, const char *footer)
{
    struct tzif file = {.len = 0};
    const int32_t utc = 0;
    tzif_put_header(&file, '2', 0, 0, 1);
    tzif_put_body(&file, 4, NULL, 0, &utc, 1);
    tzif_put_header(&file, '2', 0, (uint32_t)count, 3);
    tzif_put_body(&file, 8, changes, count, tzif_offsets, 3);
    memcpy(file.bytes + file.len, footer, strlen(footer));
    file.len += strlen(footer);
    return file;
}

mete_status tzif_parse(const struct tzif *file, struct mete__zone **out)
{
    unsigned char *copy = malloc(file->len + (file->len == 0));
    if (copy == NULL) {
        return METE_ENOMEM;
    }
    memcpy(copy, file->bytes, file->len);
    mete_status status = mete__zone_parse(copy, file->len, out);
    free(copy);
    return status;
}
