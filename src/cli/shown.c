/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/shown.h"

#include <stdbool.h>
#include <stdio.h>

/* Bytes of one character that a terminal may be shown, or 0.  Control characters of ASCII and of
 * Unicode (U+0080..9F, and those that turn the direction of text) could say something else than is there. */
static size_t shown_len(const unsigned char *at, size_t left)
{
    if (at[0] >= 0x20 && at[0] < 0x7f) {
        return at[0] == '\\' ? 0 : 1;
    }
    size_t len = at[0] >= 0xc2 && at[0] < 0xe0 ? 2 : at[0] >= 0xe0 && at[0] < 0xf0 ? 3 : at[0] >= 0xf0 ? 4 : 0;
    if (len == 0 || len > left || at[0] > 0xf4) {
        return 0;
    }
    for (size_t i = 1; i < len; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool is_c1 = at[0] == 0xc2 && at[1] < 0xa0;
    bool is_format = at[0] == 0xe2 && ((at[1] == 0x80 && at[2] >= 0x8b && at[2] <= 0xaf) ||
                                       (at[1] == 0x81 && at[2] >= 0xa0 && at[2] <= 0xaf));
    return is_c1 || is_format ? 0 : len;
}

/* The next character and its columns. */
static size_t next_len(const unsigned char *at, size_t left, size_t *columns)
{
    size_t len = shown_len(at, left);
    *columns = len > 0 ? 1 : 4;
    return len > 0 ? len : 1;
}

size_t mete__shown_width(const char *text, size_t len)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t width = 0, columns;
    for (size_t done = 0; done < len; width += columns) {
        done += next_len(at + done, len - done, &columns);
    }
    return width;
}

size_t mete__shown_print(const char *text, size_t len, size_t columns_max)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t width = 0, columns;
    for (size_t done = 0; done < len; width += columns) {
        size_t taken = next_len(at + done, len - done, &columns);
        if (width + columns > columns_max) {
            break;
        }
        if (columns == 1) {
            fwrite(at + done, 1, taken, stdout);
        } else {
            printf("\\x%02x", at[done]);
        }
        done += taken;
    }
    return width;
}
