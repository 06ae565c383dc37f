/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as an address, and as a list of them.  What is read is written in one spelling
 * that reads back to the same, as it is by the system's own functions.
 */
#include <arpa/inet.h>
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "wire/client_address.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whatever inet_pton reads is read here, to the same bytes. */
static void check_against_system(struct mete__span text)
{
    char copy[64];
    unsigned char theirs[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    unsigned char ours[16];
    if (text.len >= sizeof(copy) || memchr(text.at, '\0', text.len) != NULL) {
        return;
    }
    memcpy(copy, text.at, text.len);
    copy[text.len] = '\0';
    bool is_ipv6 = inet_pton(AF_INET6, copy, theirs) == 1;
    bool is_ipv4 = !is_ipv6 && inet_pton(AF_INET, copy, theirs + 12) == 1;
    if (is_ipv6 || is_ipv4) {
        METE_ASSERT(mete__address_parse(text, ours));
        METE_ASSERT(memcmp(ours, theirs, 16) == 0);
    }
}

static void check_address(const unsigned char address[16])
{
    char text[METE__ADDRESS_TEXT_MAX];
    unsigned char again[16];
    size_t len = mete__address_format(address, 128, text);
    METE_ASSERT(len <= sizeof(text) && mete__address_parse(mete__span_of(text, len), again));
    METE_ASSERT(memcmp(address, again, 16) == 0);
    for (unsigned prefix_len = 0; prefix_len < 128; prefix_len += 7) {
        len = mete__address_format(address, prefix_len, text);
        METE_ASSERT(len <= sizeof(text));
        const char *slash = memchr(text, '/', len);
        METE_ASSERT((slash == NULL) == mete__address_is_ipv4(address));
        /* A cut address may look like a mapped one only when it was one. */
        if (slash != NULL) {
            METE_ASSERT(mete__address_parse(mete__span_of(text, (size_t)(slash - text)), again));
            METE_ASSERT(mete__address_is_in(address, again, prefix_len));
        }
    }
}

static bool is_odd(const void *context, const unsigned char address[16])
{
    (void)context;
    return (address[15] & 1) != 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mete__span text = mete__span_of((const char *)data, size);
    unsigned char address[16];
    if (size > 0) {
        check_against_system(text);
    }
    if (mete__address_parse(text, address)) {
        check_address(address);
    }
    struct mete__span halves[2] = {mete__span_of(text.at, size / 2),
                                   mete__span_of(text.at + size / 2, size - size / 2)};
    for (unsigned depth = 1; depth < 4; depth++) {
        struct mete__forwarded list = {halves, 2, depth, NULL, NULL};
        if (mete__forwarded_pick(&list, address)) {
            check_address(address);
        }
    }
    struct mete__forwarded list = {&text, 1, 1, is_odd, NULL};
    if (mete__forwarded_pick(&list, address)) {
        check_address(address);
    }
    return 0;
}
