/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/base64.h"

#include <stdint.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void mete__base64_write(struct mete__out *out, struct mete__span bytes)
{
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        uint32_t word = (uint32_t)(unsigned char)bytes.at[i] << 16;
        word |= left > 1 ? (uint32_t)(unsigned char)bytes.at[i + 1] << 8 : 0;
        word |= left > 2 ? (uint32_t)(unsigned char)bytes.at[i + 2] : 0;
        char quad[4] = {alphabet[word >> 18], alphabet[word >> 12 & 63], left > 1 ? alphabet[word >> 6 & 63] : '=',
                        left > 2 ? alphabet[word & 63] : '='};
        mete__out_bytes(out, quad, 4);
    }
}

static int digit(char c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool mete__base64_read(struct mete__span text, char *to, struct mete__span *bytes)
{
    size_t pads = 0;
    size_t len = 0;
    if (text.len % 4 != 0) {
        return false;
    }
    while (pads < 2 && pads < text.len && text.at[text.len - 1 - pads] == '=') {
        pads++;
    }
    uint32_t word = 0;
    for (size_t i = 0; i < text.len; i++) {
        int value = i < text.len - pads ? digit(text.at[i]) : 0;
        if (value < 0) {
            return false;
        }
        word = word << 6 | (uint32_t)value;
        if (i % 4 == 3) {
            size_t kept = i + 1 == text.len ? 3 - pads : 3;
            for (size_t k = 0; k < 3; k++) {
                unsigned char byte = (unsigned char)(word >> (16 - 8 * k));
                if (k < kept) {
                    to[len++] = (char)byte;
                } else if (byte != 0) {
                    return false;
                }
            }
            word = 0;
        }
    }
    *bytes = mete__span_of(to, len);
    return true;
}
