/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may do what.  Users come from the configuration; users[0] is "default",
 * who everybody is before logging in.  Pure; any thread.
 */
#ifndef METE_SERVER_ACCESS_H
#define METE_SERVER_ACCESS_H

#include "policy/config.h"

/*
 * The user of a name and password; NULL when there is none or the password is wrong.
 * Without a name, or as "default" when that has no password, the password alone says who it
 * is (of two users with one password, the first): so do clients of Redis that know a
 * password only.  Takes the same time for a wrong name as for a wrong
 * password, and compares without an early end.
 */
const struct mete__user *mete__access_login(const struct mete__config *config, const char *name, size_t name_len,
                                            const char *password, size_t password_len);

/* The user of a client certificate's subject common name; NULL when there is none. */
const struct mete__user *mete__access_certificate(const struct mete__config *config, const char *common_name);

/* By name, after a reload; users[0] when the name is gone. */
const struct mete__user *mete__access_find(const struct mete__config *config, const char *name);

/* True until somebody logs in, when logging in is required: only AUTH, HELLO,
 * QUIT, RESET and /healthz, /readyz are served. */
static inline bool mete__access_is_locked(const struct mete__config *config, const struct mete__user *user)
{
    return config->is_login_required && user == &config->users[0];
}

static inline bool mete__access_policy(const struct mete__user *user, size_t policy_index)
{
    return user->may_use_all || (user->policies[policy_index / 64] >> policy_index % 64 & 1) != 0;
}

#endif
