/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logins.  What a guesser can measure must not depend on which guess was nearly
 * right: every login hashes its password once, and compares the digest with that of
 * every user as a whole.
 */
#include "server/access.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <string.h>

/* The length of a name is no secret; its bytes are compared without an early end. */
static bool is_named(const struct mete__user *user, const char *name, size_t name_len)
{
    return strlen(user->name) == name_len && CRYPTO_memcmp(user->name, name, name_len) == 0;
}

const struct mete__user *mete__access_login(const struct mete__config *config, const char *name, size_t name_len,
                                            const char *password, size_t password_len)
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    const struct mete__user *found = NULL;
    /* Clients that were given a password alone send it under the name "default" with HELLO. */
    bool is_anyone = name_len == 0 || (!config->users[0].has_password && is_named(&config->users[0], name, name_len));
    if (SHA256((const unsigned char *)password, password_len, digest) == NULL) {
        return NULL; /* no memory: nobody gets in */
    }
    for (size_t i = 0; i < config->user_count; i++) {
        const struct mete__user *user = &config->users[i];
        _Static_assert(sizeof(digest) == sizeof(user->password_sha256), "whole digests are compared");
        bool is_same = CRYPTO_memcmp(digest, user->password_sha256, sizeof(digest)) == 0 && user->has_password;
        bool is_meant = is_anyone || is_named(user, name, name_len);
        found = is_same && is_meant && found == NULL ? user : found;
    }
    OPENSSL_cleanse(digest, sizeof(digest));
    return found;
}

const struct mete__user *mete__access_certificate(const struct mete__config *config, const char *common_name)
{
    for (size_t i = 0; common_name != NULL && i < config->user_count; i++) {
        const char *wanted = config->users[i].certificate_name;
        if (wanted != NULL && strcmp(wanted, common_name) == 0) {
            return &config->users[i];
        }
    }
    return NULL;
}

const struct mete__user *mete__access_find(const struct mete__config *config, const char *name)
{
    for (size_t i = 0; i < config->user_count; i++) {
        if (strcmp(config->users[i].name, name) == 0) {
            return &config->users[i];
        }
    }
    return &config->users[0];
}
