/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logins.  What a guesser can measure must not depend on which guess was nearly
 * right: every login hashes its password once, walks over all users, and compares one
 * digest as a whole (of nobody, when the name is unknown).
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
    static const struct mete__user nobody = {.name = ""};
    unsigned char digest[SHA256_DIGEST_LENGTH];
    const struct mete__user *found = &nobody;
    if (name_len == 0) {
        name = config->users[0].name;
        name_len = strlen(name);
    }
    for (size_t i = 0; i < config->user_count; i++) {
        /* Names differ, so no later one replaces it. */
        found = is_named(&config->users[i], name, name_len) ? &config->users[i] : found;
    }
    if (SHA256((const unsigned char *)password, password_len, digest) == NULL) {
        return NULL; /* no memory: nobody gets in */
    }
    _Static_assert(sizeof(digest) == sizeof(found->password_sha256), "whole digests are compared");
    bool is_same = CRYPTO_memcmp(digest, found->password_sha256, sizeof(digest)) == 0;
    OPENSSL_cleanse(digest, sizeof(digest));
    return is_same && found->has_password ? found : NULL;
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
