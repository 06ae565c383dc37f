/* SPDX-License-Identifier: Apache-2.0 */
/* Who may do what. */
#include <string.h>

#include <openssl/evp.h>

#include "policy/schema.h"
#include "policy/source.h"

#define PASSWORD_LEN_MAX 512u
#define PASSWORD_FILE_MAX ((size_t)4096)
#define COMMON_NAME_MAX 64u /* ub-common-name of RFC 5280, appendix A.1 */
#define PATH_LEN_MAX 4095u
#define SHA256_LEN 32u

/* --- tables ------------------------------------------------------------------------- */

struct user_item {
    const char *name;
    const char *password;
    const char *password_sha256;
    const char *password_file;
    const char *certificate_name;
    bool may_bring_limits;
    bool may_administer;
};

enum {
    USER_NAME,
    USER_PASSWORD,
    USER_PASSWORD_SHA256,
    USER_PASSWORD_FILE,
    USER_CERTIFICATE_NAME,
    USER_POLICIES,
    USER_MAY_BRING_LIMITS,
    USER_MAY_ADMINISTER,
    USER_COUNT
};

#define USER_TEXT(member_name, most, type_text, text)                                                               \
    {                                                                                                               \
        .name = #member_name, .kind = METE__FIELD_TEXT, METE__MEMBER(struct user_item, member_name), .max = (most), \
        .shown_type = (type_text), .shown_default = "none", .help = (text)                                          \
    }
#define USER_SWITCH(member_name, text)                                                                                \
    {                                                                                                                 \
        .name = #member_name, .kind = METE__FIELD_SWITCH, METE__MEMBER(struct user_item, member_name), .help = (text) \
    }

static const struct mete__field user_fields[USER_COUNT] = {
    [USER_NAME] = {.name = "name",
                   .kind = METE__FIELD_NAME,
                   .is_required = true,
                   METE__MEMBER(struct user_item, name),
                   .help = "`default` is everybody who has not logged in"},
    [USER_PASSWORD] = USER_TEXT(password, PASSWORD_LEN_MAX, "text", "the password itself: then protect this file"),
    [USER_PASSWORD_SHA256] =
        USER_TEXT(password_sha256, 2 * SHA256_LEN, "64 hexadecimal digits", "the SHA-256 of a long random password"),
    [USER_PASSWORD_FILE] = USER_TEXT(password_file, PATH_LEN_MAX, "file", "whose first line is the password"),
    [USER_CERTIFICATE_NAME] = USER_TEXT(certificate_name, COMMON_NAME_MAX, "text",
                                        "the common name of a client certificate that is this user"),
    [USER_POLICIES] = {.name = "policies",
                       .kind = METE__FIELD_OTHER,
                       .is_required = true,
                       .shown_type = "`all`, `none`, or a list of names",
                       .help = "the policies this user may ask"},
    [USER_MAY_BRING_LIMITS] = USER_SWITCH(may_bring_limits, "CL.THROTTLE and its like, whose limits the client sets"),
    [USER_MAY_ADMINISTER] = USER_SWITCH(may_administer, "refund, reset, top keys, policies, metrics, the client list"),
};

const struct mete__section mete__section_user = {
    "users[]", user_fields, USER_COUNT,
    "Who may do what. Without this list everybody may do everything. With it, and without a user `default`, everybody "
    "must log in first. A user other than `default` has one kind of password, or a `certificate_name`, or both."};

/* --- passwords ------------------------------------------------------------------------ */

static void set_password(const struct mete__loader *loader, struct mete__user *user, const char *password, size_t len)
{
    unsigned digest_len = SHA256_LEN;
    user->has_password = EVP_Digest(password, len, user->password_sha256, &digest_len, EVP_sha256(), NULL) == 1;
    loader->arena->is_exhausted = loader->arena->is_exhausted || !user->has_password;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static void read_digest(const struct mete__loader *loader, const struct mete__node *node, const char *hex,
                        struct mete__user *user)
{
    bool is_hex = strlen(hex) == (size_t)2 * SHA256_LEN;
    for (size_t i = 0; i < SHA256_LEN && is_hex; i++) {
        int high = hex_value(hex[2 * i]);
        int low = hex_value(hex[2 * i + 1]);
        is_hex = high >= 0 && low >= 0;
        user->password_sha256[i] = (unsigned char)(is_hex ? high << 4 | low : 0);
    }
    user->has_password = is_hex;
    if (!is_hex) {
        mete__fault_at(loader, node, "password_sha256: not 64 hexadecimal digits");
    }
}

static void read_password_file(const struct mete__loader *loader, const struct mete__node *node, const char *path,
                               struct mete__user *user)
{
    struct mete__arena arena = {.budget = PASSWORD_FILE_MAX * 2};
    char sentence[METE__SENTENCE_SIZE];
    char *text = NULL;
    size_t len = 0;
    mete_status status = mete__source_read(path, PASSWORD_FILE_MAX, &arena, &text, &len, sentence);
    if (status == METE_ENOMEM) {
        loader->arena->is_exhausted = true;
    } else if (status != METE_OK) {
        mete__fault_at(loader, node, "password_file: %s: %s", mete__quote(path, strlen(path)).text, sentence);
    } else {
        size_t line_len = 0;
        while (line_len < len && text[line_len] != '\n' && text[line_len] != '\r') {
            line_len++;
        }
        if (line_len == 0 || line_len > PASSWORD_LEN_MAX) {
            mete__fault_at(loader, node, "password_file: its first line must have 1 to %u bytes", PASSWORD_LEN_MAX);
        } else {
            set_password(loader, user, text, line_len);
        }
        OPENSSL_cleanse(text, len);
    }
    mete__arena_clear(&arena);
}

static void read_password(const struct mete__loader *loader, const struct mete__node *const *seen,
                          const struct user_item *item, struct mete__user *user)
{
    if (item->password != NULL) {
        set_password(loader, user, item->password, seen[USER_PASSWORD]->len);
    } else if (item->password_sha256 != NULL) {
        read_digest(loader, seen[USER_PASSWORD_SHA256], item->password_sha256, user);
    } else if (item->password_file != NULL) {
        read_password_file(loader, seen[USER_PASSWORD_FILE], item->password_file, user);
    }
}

/* How somebody becomes this user. */
static void check_login(const struct mete__loader *loader, const struct mete__node *node,
                        const struct mete__node *const *seen, const struct user_item *item)
{
    int passwords =
        (seen[USER_PASSWORD] != NULL) + (seen[USER_PASSWORD_SHA256] != NULL) + (seen[USER_PASSWORD_FILE] != NULL);
    bool has_certificate = seen[USER_CERTIFICATE_NAME] != NULL;
    if (strcmp(item->name, "default") == 0) {
        if (passwords > 0 || has_certificate) {
            mete__fault_at(loader, node,
                           "users: 'default' is who has not logged in: it has no password or certificate");
        }
        return;
    }
    if (passwords > 1) {
        mete__fault_at(loader, node, "users: '%s' has more than one of password, password_sha256, password_file",
                       item->name);
    } else if (passwords == 0 && !has_certificate) {
        mete__fault_at(loader, node, "users: nobody could log in as '%s': it has no password and no certificate_name",
                       item->name);
    }
    if (has_certificate && loader->config->tls.client_ca == NULL) {
        mete__fault_at(loader, seen[USER_CERTIFICATE_NAME],
                       "certificate_name: clients show no certificate without client_ca in section tls");
    }
}

/* --- policies -------------------------------------------------------------------------- */

static void read_policy_name(const struct mete__loader *loader, const struct mete__node *node, struct mete__user *user)
{
    const struct mete__config *config = loader->config;
    for (size_t i = 0; i < config->policy_count; i++) {
        if (mete__node_is(node, config->policies[i].name)) {
            user->policies[i / 64] |= UINT64_C(1) << i % 64;
            return;
        }
    }
    if (node->kind != METE__NODE_TEXT) {
        mete__fault_at(loader, node, "policies: %s, where the name of a policy belongs", mete__node_kind_words(node));
        return;
    }
    mete__fault_at(loader, node, "policies: there is no policy %s", mete__quote(node->text, node->len).text);
}

static bool take_policy_bits(const struct mete__loader *loader, struct mete__user *user)
{
    size_t words = loader->config->policy_count / 64 + 1;
    user->policies = mete__arena_take_array(loader->arena, words, sizeof(user->policies[0]));
    return user->policies != NULL;
}

static void read_policies(const struct mete__loader *loader, const struct mete__node *node, struct mete__user *user)
{
    if (mete__node_is(node, "all")) {
        user->may_use_all = true;
        return;
    }
    if (mete__node_is(node, "none")) {
        return;
    }
    if (node->kind == METE__NODE_TEXT) {
        mete__fault_at(loader, node, "policies: %s is not all, none or a list of names",
                       mete__quote(node->text, node->len).text);
        return;
    }
    if (!mete__read_list(loader, "policies", node, METE__POLICIES_MAX)) {
        return;
    }
    for (const struct mete__node *item = node->first; item != NULL; item = item->next) {
        read_policy_name(loader, item, user);
    }
}

/* --- users ------------------------------------------------------------------------------ */

static void check_new(const struct mete__loader *loader, const struct mete__node *const *seen,
                      const struct user_item *item, const struct mete__place *places)
{
    const struct mete__config *config = loader->config;
    for (size_t i = 0; i < config->user_count; i++) {
        const struct mete__user *other = &config->users[i];
        if (places[i].line == 0) {
            continue;
        }
        if (strcmp(other->name, item->name) == 0) {
            mete__fault_at(loader, seen[USER_NAME], "name: the user '%s' was already given in line %u", item->name,
                           places[i].line);
        }
        if (item->certificate_name != NULL && other->certificate_name != NULL &&
            strcmp(other->certificate_name, item->certificate_name) == 0) {
            mete__fault_at(loader, seen[USER_CERTIFICATE_NAME],
                           "certificate_name: was already given to the user of line %u", places[i].line);
        }
    }
}

static void load_user(const struct mete__loader *loader, const struct mete__node *node, struct mete__place *places)
{
    struct mete__config *config = loader->config;
    const struct mete__node *seen[METE__FIELDS_MAX];
    struct user_item item;
    struct mete__user user = {0};
    mete__section_read(loader, &mete__section_user, node, &item, seen);
    if (item.name == NULL || !take_policy_bits(loader, &user)) {
        return;
    }
    user.name = item.name;
    user.certificate_name = item.certificate_name;
    user.may_bring_limits = item.may_bring_limits;
    user.may_administer = item.may_administer;
    check_new(loader, seen, &item, places);
    check_login(loader, node, seen, &item);
    read_password(loader, seen, &item, &user);
    if (seen[USER_POLICIES] != NULL) {
        read_policies(loader, seen[USER_POLICIES], &user);
    }
    bool is_default = strcmp(user.name, "default") == 0;
    size_t index = is_default ? 0 : config->user_count++;
    config->users[index] = user;
    places[index] = node->place;
}

void mete__load_users(const struct mete__loader *loader, const struct mete__node *node)
{
    struct mete__config *config = loader->config;
    bool has_list = node != NULL && mete__read_list(loader, "users", node, METE__USERS_MAX - 1);
    size_t room = 1 + (has_list ? node->count : 0);
    struct mete__place *places = mete__arena_take_array(loader->arena, room, sizeof(places[0]));
    config->users = mete__arena_take_array(loader->arena, room, sizeof(config->users[0]));
    if (places == NULL || config->users == NULL || !take_policy_bits(loader, &config->users[0])) {
        return;
    }
    config->users[0].name = "default";
    config->user_count = 1;
    if (node == NULL) {
        config->users[0].may_bring_limits = true;
        config->users[0].may_administer = true;
        config->users[0].may_use_all = true;
        return;
    }
    for (const struct mete__node *item = has_list ? node->first : NULL; item != NULL; item = item->next) {
        load_user(loader, item, places);
    }
    config->is_login_required = places[0].line == 0;
}
