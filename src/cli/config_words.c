/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/config_words.h"

#include <stdio.h>
#include <string.h>

const struct mete__style_words mete__styles[METE__STYLE_COUNT] = {
    {METE__HEADERS_DRAFT_06, "draft-06", "RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, RateLimit-Policy"},
    {METE__HEADERS_DRAFT_07, "draft-07", "RateLimit, RateLimit-Policy"},
    {METE__HEADERS_DRAFT_10, "draft-10", "RateLimit, RateLimit-Policy"},
    {METE__HEADERS_DRAFT_12, "draft-12-provisional", "RateLimit, RateLimit-Policy"},
    {METE__HEADERS_X_DELTA, "x-ratelimit-delta", "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset"},
    {METE__HEADERS_X_EPOCH, "x-ratelimit-epoch", "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset"},
};

const char *mete__on_full_word(enum mete_full_policy on_full)
{
    static const char *const words[] = {
        [METE_FULL_EVICT] = "evict", [METE_FULL_DENY] = "deny", [METE_FULL_ALLOW] = "allow"};
    return words[on_full];
}

/* Appends with ", " between; *len stays below size. */
static void append(char *text, size_t size, size_t *len, const char *word, const char *name)
{
    int added = snprintf(text + *len, size - *len, "%s%s%s", *len > 0 ? ", " : "", word, name);
    *len += added > 0 ? (size_t)added : 0;
    *len = *len < size ? *len : size - 1;
}

void mete__headers_words(unsigned headers, char *text, size_t size)
{
    size_t len = 0;
    text[0] = '\0';
    for (size_t i = 0; i < METE__STYLE_COUNT; i++) {
        if ((headers & mete__styles[i].style) != 0) {
            append(text, size, &len, mete__styles[i].word, "");
        }
    }
    if (len == 0) {
        append(text, size, &len, "off", "");
    }
}

void mete__key_words(const struct mete__policy *policy, char *text, size_t size)
{
    static const char *const words[] = {[METE__KEY_CLIENT_ADDRESS] = "client_address",
                                        [METE__KEY_HEADER] = "header:",
                                        [METE__KEY_QUERY] = "query:",
                                        [METE__KEY_METHOD] = "method",
                                        [METE__KEY_PATH] = "path"};
    size_t len = 0;
    text[0] = '\0';
    for (size_t i = 0; i < policy->key_part_count; i++) {
        const struct mete__key_part *part = &policy->key_parts[i];
        append(text, size, &len, words[part->source], part->name != NULL ? part->name : "");
    }
}

void mete__key_shown(const char *key, size_t key_len, char *text, size_t size)
{
    size_t len = 0;
    for (size_t i = 0; i < key_len && len + 5 < size; i++) {
        unsigned char byte = (unsigned char)key[i];
        bool is_plain = byte >= ' ' && byte < 0x7f && byte != '\\';
        len += (size_t)snprintf(text + len, size - len, is_plain ? "%c" : "\\x%02x", byte);
    }
    text[len] = '\0';
}
