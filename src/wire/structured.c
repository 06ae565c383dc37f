/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/structured.h"

#include "wire/base64.h"

void mete__sf_integer(struct mete__out *out, uint64_t value)
{
    mete__out_u64(out, value < METE__SF_INTEGER_MAX ? value : METE__SF_INTEGER_MAX);
}

bool mete__sf_is_string(struct mete__span text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] < 0x20 || text.at[i] >= 0x7f) {
            return false;
        }
    }
    return true;
}

/* RFC 9651, section 4.1.6: '"' and '\' get a backslash, nothing else does. */
void mete__sf_string(struct mete__out *out, struct mete__span text)
{
    char *room = mete__out_room(out, 2 * text.len + 2);
    if (room == NULL) {
        return;
    }
    size_t len = 0;
    room[len++] = '"';
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] == '"' || text.at[i] == '\\') {
            room[len++] = '\\';
        }
        room[len++] = text.at[i];
    }
    room[len++] = '"';
    out->len += len;
}

void mete__sf_bytes(struct mete__out *out, struct mete__span bytes)
{
    mete__out_text(out, ":");
    mete__base64_write(out, bytes);
    mete__out_text(out, ":");
}

void mete__sf_key(struct mete__out *out, const char *key)
{
    mete__out_text(out, ";");
    mete__out_text(out, key);
    mete__out_text(out, "=");
}
