/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/target.h"

#include <stdint.h>
#include <string.h>

bool mete__target_split(struct mete__span target, struct mete__target *out)
{
    const char *end = target.at + target.len;
    if (target.len > 0 && target.at[0] != '/' && target.at[0] != '*') {
        const char *colon = memchr(target.at, ':', target.len);
        if (colon == NULL || end - colon < 4 || memcmp(colon, "://", 3) != 0) {
            return false;
        }
        const char *at = colon + 3;
        while (at < end && *at != '/' && *at != '?') {
            at++;
        }
        if (at == colon + 3) {
            return false; /* RFC 9110, section 4.2.1: an empty host is invalid */
        }
        if (at == end || *at == '?') {
            /* Section 4.2.3: an empty path is the same as "/". */
            out->path = mete__span_of("/", 1);
            out->query = at == end ? mete__span_of(end, 0) : mete__span_of(at + 1, (size_t)(end - at - 1));
            return true;
        }
        target = mete__span_of(at, (size_t)(end - at));
    }
    const char *mark = target.len > 0 ? memchr(target.at, '?', target.len) : NULL;
    size_t path_len = mark != NULL ? (size_t)(mark - target.at) : target.len;
    out->path = mete__span_of(target.at, path_len);
    out->query = mark != NULL ? mete__span_of(mark + 1, target.len - path_len - 1) : mete__span_of(end, 0);
    return path_len > 0;
}

bool mete__query_next(struct mete__span *rest, struct mete__span *name, struct mete__span *value)
{
    while (rest->len > 0) {
        size_t len = 0;
        size_t equals = SIZE_MAX;
        while (len < rest->len && rest->at[len] != '&') {
            if (rest->at[len] == '=' && equals == SIZE_MAX) {
                equals = len;
            }
            len++;
        }
        const char *at = rest->at;
        size_t taken = len < rest->len ? len + 1 : len;
        *rest = mete__span_of(rest->at + taken, rest->len - taken);
        if (len > 0) {
            *name = mete__span_of(at, equals != SIZE_MAX ? equals : len);
            *value = equals != SIZE_MAX ? mete__span_of(at + equals + 1, len - equals - 1) : mete__span_of(at + len, 0);
            return true;
        }
    }
    return false;
}

bool mete__is_decoded(struct mete__span text, bool is_query)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] == '%' || (is_query && text.at[i] == '+')) {
            return false;
        }
    }
    return true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = mete__lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool mete__percent_decode(struct mete__span text, bool is_query, char *to, struct mete__span *out)
{
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (c == '%') {
            int high = text.len - i > 2 ? hex_digit(text.at[i + 1]) : -1;
            int low = text.len - i > 2 ? hex_digit(text.at[i + 2]) : -1;
            if (high < 0 || low < 0) {
                return false;
            }
            c = (char)(unsigned char)(high * 16 + low);
            i += 2;
        } else if (c == '+' && is_query) {
            c = ' ';
        }
        to[len++] = c;
    }
    *out = mete__span_of(to, len);
    return true;
}
