/* SPDX-License-Identifier: Apache-2.0 */
/* Networks as text: "10.0.0.0/8", "2001:db8::/32", or one address. */
#ifndef METE_POLICY_NETWORK_H
#define METE_POLICY_NETWORK_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/config.h"

#define METE__NETWORK_TEXT_SIZE 52u /* 45 of the longest IPv6 address, "/128", NUL */

/* One address, as the network of it alone.  Without zone ("%eth0"). */
bool mete__network_parse_address(const char *text, size_t len, struct mete__network *out);

enum mete__network_result {
    METE__NETWORK_OK,
    METE__NETWORK_MALFORMED,
    METE__NETWORK_HOST_BITS /* bits behind the prefix are set: *out is the network that was probably meant */
};
enum mete__network_result mete__network_parse(const char *text, size_t len, struct mete__network *out);

void mete__network_format(const struct mete__network *network, char text[METE__NETWORK_TEXT_SIZE]);

#endif
