/* SPDX-License-Identifier: Apache-2.0 */
/* What a configuration may say, but hardly means. */
#include <stdarg.h>
#include <string.h>

#include "policy/load.h"
#include "policy/network.h"

struct list {
    char *text;
    size_t size;
    size_t len;
    size_t count;
};

static void add(struct list *list, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct list *list, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    if (list->count++ > 0 && list->len + 1 < list->size) {
        list->text[list->len++] = '\n';
    }
    if (list->len < list->size) {
        int added = vsnprintf(list->text + list->len, list->size - list->len, format, values);
        list->len += added > 0 ? (size_t)added : 0;
    }
    va_end(values);
}

/* Only this machine can reach it: loopback (RFC 1122, section 3.2.1.3; RFC 4291,
 * section 2.5.3) and Unix sockets.  Whoever hands a socket over chose its address. */
static bool is_local(const char *address)
{
    static const char *const prefixes[] = {"unix:", "fd:", "127.", "localhost:"};
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        if (strncmp(address, prefixes[i], strlen(prefixes[i])) == 0) {
            return true;
        }
    }
    const char *end = strchr(address, ']');
    struct mete__network network;
    static const unsigned char loopback[16] = {[15] = 1};
    return address[0] == '[' && end != NULL &&
           mete__network_parse_address(address + 1, (size_t)(end - address - 1), &network) &&
           memcmp(network.address, loopback, sizeof(loopback)) == 0;
}

static bool has_passwords(const struct mete__config *config)
{
    bool any = false;
    for (size_t i = 0; i < config->user_count; i++) {
        any = any || config->users[i].has_password;
    }
    return any;
}

static void look_at_listener(struct list *list, const struct mete__config *config,
                             const struct mete__listener *listener)
{
    const struct mete__user *anybody = &config->users[0];
    if (is_local(listener->address)) {
        return;
    }
    if (anybody->may_administer || anybody->may_bring_limits) {
        add(list, "listen: whoever reaches %s may %s without logging in; give users, or listen on loopback",
            listener->address, anybody->may_administer ? "reset keys" : "bring limits of their own");
    }
    if (has_passwords(config) && !listener->is_tls) {
        add(list, "listen: passwords travel to %s in plain text; set tls: true", listener->address);
    }
}

static void look_at_tls(struct list *list, const struct mete__config *config)
{
    bool is_used = false;
    for (size_t i = 0; i < config->listener_count; i++) {
        is_used = is_used || config->listeners[i].is_tls;
    }
    if (config->tls.certificate != NULL && !is_used) {
        add(list, "tls: no listener has tls: true, so the certificate is not used");
    }
}

/* Sliding logs of a policy for which the store has room for few keys only. */
static void look_at_policy(struct list *list, const struct mete__config *config, const struct mete__policy *policy)
{
    for (size_t i = 0; i < policy->limit_count; i++) {
        const struct mete_limit *limit = &policy->plans[0].limits[i].limit;
        if (limit->algorithm == METE_SLIDING_LOG && config->log_units_max / limit->count < 8) {
            add(list, "policies: '%s': store.log_units_max has room for 8 keys only of the sliding_log '%s'",
                policy->name, policy->plans[0].limits[i].name);
        }
    }
    if (policy->plan_count > 1 && policy->override_count == 0) {
        add(list, "policies: '%s' has plans but no overrides: no key is on them", policy->name);
    }
}

size_t mete__config_warnings(const struct mete__config *config, char *text, size_t text_size)
{
    struct list list = {text, text_size, 0, 0};
    if (text_size > 0) {
        text[0] = '\0';
    }
    for (size_t i = 0; i < config->listener_count; i++) {
        look_at_listener(&list, config, &config->listeners[i]);
    }
    look_at_tls(&list, config);
    for (size_t i = 0; i < config->policy_count; i++) {
        look_at_policy(&list, config, &config->policies[i]);
    }
    if (config->policy_count == 0) {
        add(&list, "policies: there are none; only limits that clients bring are served");
    }
    return list.count;
}
