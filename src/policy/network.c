/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/network.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* IPv4 addresses as IPv6 ones: RFC 4291, section 2.5.5.2. */
static const unsigned char mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
#define MAPPED_BITS 96u
#define ADDRESS_BITS 128u

/* Parses either kind; *is_v4 tells which. */
static bool parse_address(const char *text, size_t len, struct mete__network *out, bool *is_v4)
{
    char copy[INET6_ADDRSTRLEN];
    if (len >= sizeof(copy) || memchr(text, '\0', len) != NULL) {
        return false;
    }
    memcpy(copy, text, len);
    copy[len] = '\0';
    *is_v4 = inet_pton(AF_INET, copy, out->address + sizeof(mapped)) == 1;
    if (*is_v4) {
        memcpy(out->address, mapped, sizeof(mapped));
    } else if (inet_pton(AF_INET6, copy, out->address) != 1) {
        return false;
    }
    out->prefix_len = ADDRESS_BITS;
    return true;
}

bool mete__network_parse_address(const char *text, size_t len, struct mete__network *out)
{
    bool is_v4 = false;
    return parse_address(text, len, out, &is_v4);
}

/* Clears what stands behind the prefix; true when something did. */
static bool clear_host_bits(struct mete__network *network)
{
    bool had_bits = false;
    for (unsigned i = 0; i < sizeof(network->address); i++) {
        unsigned kept = network->prefix_len > i * 8 ? network->prefix_len - i * 8 : 0;
        unsigned mask = kept >= 8 ? 0xffu : 0xff00u >> kept & 0xffu;
        had_bits = had_bits || (network->address[i] & ~mask) != 0;
        network->address[i] = (unsigned char)(network->address[i] & mask);
    }
    return had_bits;
}

enum mete__network_result mete__network_parse(const char *text, size_t len, struct mete__network *out)
{
    struct mete__text rest = mete__text_of(text, len);
    struct mete__text address = mete__text_until(&rest, '/');
    uint64_t prefix_len = 0;
    bool is_v4 = false;
    if (!parse_address(address.at, mete__text_len(&address), out, &is_v4)) {
        return METE__NETWORK_MALFORMED;
    }
    if (mete__text_is_empty(&rest)) {
        return METE__NETWORK_OK;
    }
    mete__text_eat(&rest, '/');
    uint64_t prefix_len_max = is_v4 ? ADDRESS_BITS - MAPPED_BITS : ADDRESS_BITS;
    if (mete__text_len(&rest) > 3 || mete__text_u64(&rest, &prefix_len) != METE__NUMBER_OK ||
        !mete__text_is_empty(&rest) || prefix_len > prefix_len_max) {
        return METE__NETWORK_MALFORMED;
    }
    out->prefix_len = (unsigned)prefix_len + (is_v4 ? MAPPED_BITS : 0);
    return clear_host_bits(out) ? METE__NETWORK_HOST_BITS : METE__NETWORK_OK;
}

void mete__network_format(const struct mete__network *network, char text[METE__NETWORK_TEXT_SIZE])
{
    char address[INET6_ADDRSTRLEN] = "";
    bool is_v4 = network->prefix_len >= MAPPED_BITS && memcmp(network->address, mapped, sizeof(mapped)) == 0;
    if (is_v4) {
        inet_ntop(AF_INET, network->address + sizeof(mapped), address, sizeof(address));
    } else {
        inet_ntop(AF_INET6, network->address, address, sizeof(address));
    }
    snprintf(text, METE__NETWORK_TEXT_SIZE, "%s/%u", address, network->prefix_len - (is_v4 ? MAPPED_BITS : 0));
}
