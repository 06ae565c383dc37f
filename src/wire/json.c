/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/json.h"

#include "base/arith.h"

#define NS_PER_MS UINT64_C(1000000)

/* The length of the character at the front of text[0..len), 0 when there is none.  RFC 3629, section 4. */
static size_t utf8_len(const char *text, size_t len)
{
    unsigned char first = (unsigned char)text[0];
    size_t more = first < 0x80 ? 0 : first < 0xc2 ? 4 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : first < 0xf5 ? 3 : 4;
    if (more >= 4 || more >= len) {
        return 0;
    }
    for (size_t i = 1; i <= more; i++) {
        unsigned char next = (unsigned char)text[i];
        /* The second byte shuts out long forms, surrogates, and what lies above U+10FFFF. */
        unsigned low = i == 1 && first == 0xe0 ? 0xa0 : i == 1 && first == 0xf0 ? 0x90 : 0x80;
        unsigned high = i == 1 && first == 0xed ? 0x9f : i == 1 && first == 0xf4 ? 0x8f : 0xbf;
        if (next < low || next > high) {
            return 0;
        }
    }
    return more + 1;
}

bool mete__is_utf8(struct mete__span text)
{
    for (size_t i = 0; i < text.len;) {
        size_t len = utf8_len(text.at + i, text.len - i);
        if (len == 0) {
            return false;
        }
        i += len;
    }
    return true;
}

static void write_escape(struct mete__out *out, unsigned char c)
{
    if (c == '"' || c == '\\') {
        char pair[2] = {'\\', (char)c};
        mete__out_bytes(out, pair, 2);
        return;
    }
    char code[6] = {'\\', 'u', '0', '0', "0123456789abcdef"[c >> 4], "0123456789abcdef"[c & 15]};
    mete__out_bytes(out, code, 6);
}

void mete__json_string(struct mete__out *out, struct mete__span text)
{
    mete__out_text(out, "\"");
    size_t plain = 0; /* where what has not been written begins */
    for (size_t i = 0; i < text.len;) {
        unsigned char c = (unsigned char)text.at[i];
        size_t len = c < 0x80 ? 1 : utf8_len(text.at + i, text.len - i);
        /* Control characters must be escaped; DEL need not be, but terminals thank for it. */
        bool is_plain = len > 0 && c >= 0x20 && c != '"' && c != '\\' && c != 0x7f;
        if (!is_plain) {
            mete__out_bytes(out, text.at + plain, i - plain);
            if (len == 0) {
                mete__out_text(out, "\xef\xbf\xbd");
                len = 1;
            } else {
                write_escape(out, c);
            }
            plain = i + len;
        }
        i += len;
    }
    if (plain < text.len) {
        mete__out_bytes(out, text.at + plain, text.len - plain);
    }
    mete__out_text(out, "\"");
}

void mete__json_ms(struct mete__out *out, uint64_t wait_ns)
{
    if (wait_ns == UINT64_MAX) {
        mete__out_text(out, "null");
        return;
    }
    mete__out_u64(out, mete__div_ceil_u64(wait_ns, NS_PER_MS));
}
