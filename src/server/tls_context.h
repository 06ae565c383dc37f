/* SPDX-License-Identifier: Apache-2.0 */
/* What tls.c needs of a context besides holding it. */
#ifndef METE_SERVER_TLS_CONTEXT_H
#define METE_SERVER_TLS_CONTEXT_H

#include <openssl/ssl.h>

#include "server/tls.h"

SSL_CTX *mete__tls_context_ssl(const struct mete__tls_context *context);

/* What OpenSSL said last; a constant. */
const char *mete__tls_reason(void);

#endif
