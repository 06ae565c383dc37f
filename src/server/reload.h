/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From files to what is in force, at the start and while serving.  A reload is all
 * or nothing: everything is read, checked and made before anything changes.
 */
#ifndef METE_SERVER_RELOAD_H
#define METE_SERVER_RELOAD_H

#include "server/server.h"

/* Reads the configuration, or takes the built-in one; notes the file for the watch before. */
mete_status mete__load_config(struct mete__server *server, struct mete__config **out, char *why, size_t why_size);

/* The TLS context a configuration asks for; NULL in *out when it asks for none. */
mete_status mete__make_tls(struct mete__server *server, const struct mete__config *config,
                           struct mete__tls_context **out, char *why, size_t why_size);

/* Raises the soft limit of descriptors; lowers connections_max when that is not enough. */
void mete__fit_descriptors(struct mete__config *config);

/* The command line's addresses take the place of the configuration's. */
void mete__override_listeners(const struct mete__server *server, struct mete__config *config);

/* What is allowed but hardly meant, to the log. */
void mete__log_warnings(const struct mete__config *config);

#endif
