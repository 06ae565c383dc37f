/* SPDX-License-Identifier: Apache-2.0 */
#include "server/reload.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "policy/load.h"
#include "server/log.h"
#include "server/notify.h"

#define WHY_SIZE METE__CONFIG_WHY_SIZE
/* Descriptors that are not connections: listeners, loops, files, standard streams. */
#define DESCRIPTORS_KEPT 128u

static void log_lines(enum mete__log_level level, const char *event, char *lines)
{
    char *rest = NULL;
    for (char *line = strtok_r(lines, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        METE__LOG(level, event, METE__LOG_TEXT("reason", line));
    }
}

void mete__log_warnings(const struct mete__config *config)
{
    char lines[WHY_SIZE];
    if (mete__config_warnings(config, lines, sizeof lines) > 0) {
        log_lines(METE__LOG_WARN, "configuration", lines);
    }
}

mete_status mete__load_config(struct mete__server *server, struct mete__config **out, char *why, size_t why_size)
{
    const char *path = server->options.config_path;
    mete__watch_begin(&server->watch);
    mete__watch_add(&server->watch, path);
    if (path == NULL) {
        snprintf(why, why_size, "no memory");
        return mete__config_builtin(out);
    }
    return mete__config_load(path, out, why, why_size);
}

mete_status mete__make_tls(struct mete__server *server, const struct mete__config *config,
                           struct mete__tls_context **out, char *why, size_t why_size)
{
    *out = NULL;
    mete__watch_add(&server->watch, config->tls.certificate);
    mete__watch_add(&server->watch, config->tls.key);
    mete__watch_add(&server->watch, config->tls.client_ca);
    return config->tls.certificate != NULL ? mete__tls_context_create(&config->tls, out, why, why_size) : METE_OK;
}

void mete__fit_descriptors(struct mete__config *config)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return;
    }
    uint64_t wanted = config->bounds.connections_max + DESCRIPTORS_KEPT;
    if (limit.rlim_cur < wanted) {
        limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    if (limit.rlim_cur < wanted) {
        uint64_t most = limit.rlim_cur > 2 * DESCRIPTORS_KEPT ? limit.rlim_cur - DESCRIPTORS_KEPT : limit.rlim_cur / 2;
        METE__LOG(METE__LOG_WARN, "connections_max lowered to what the limit of open files allows",
                  METE__LOG_U64("connections_max", most), METE__LOG_U64("open_files", limit.rlim_cur));
        config->bounds.connections_max = most;
    }
}

/* The command line's address takes the place of the file's listeners of its protocol; with TLS if they all had it. */
static void set_listener(struct mete__config *config, enum mete__protocol_kind protocol, const char *address)
{
    size_t kept = 0, replaced = 0, with_tls = 0;
    if (address == NULL) {
        return;
    }
    for (size_t i = 0; i < config->listener_count; i++) {
        if (config->listeners[i].protocol != protocol) {
            config->listeners[kept++] = config->listeners[i];
        } else {
            replaced++;
            with_tls += config->listeners[i].is_tls;
        }
    }
    config->listener_count = kept;
    if (strcmp(address, "off") != 0 && kept < METE__LISTENERS_MAX) {
        config->listeners[config->listener_count++] =
            (struct mete__listener){.protocol = protocol,
                                    .address = address,
                                    .unix_mode = 0600,
                                    .is_tls = replaced > 0 && with_tls == replaced};
    }
}

void mete__override_listeners(const struct mete__server *server, struct mete__config *config)
{
    set_listener(config, METE__PROTOCOL_RESP, server->options.resp_address);
    set_listener(config, METE__PROTOCOL_HTTP, server->options.http_address);
}

static bool is_same_listener(const struct mete__listener *a, const struct mete__listener *b)
{
    return a->protocol == b->protocol && a->is_tls == b->is_tls && a->unix_mode == b->unix_mode &&
           strcmp(a->address, b->address) == 0;
}

/* What is fixed at the start is not silently other than the file says. */
static void warn_of_restart(const struct mete__config *old, const struct mete__config *fresh)
{
    bool is_same = old->listener_count == fresh->listener_count;
    for (size_t i = 0; is_same && i < old->listener_count; i++) {
        is_same = is_same_listener(&old->listeners[i], &fresh->listeners[i]);
    }
    if (!is_same) {
        METE__LOG(METE__LOG_WARN, "listen has changed: restart to take it");
    }
    if (old->threads != fresh->threads) {
        METE__LOG(METE__LOG_WARN, "threads has changed: restart to take it");
    }
}

static mete_status reload(struct mete__server *server, char *why, size_t why_size)
{
    struct mete__config *config;
    struct mete__tls_context *tls;
    mete_status status = mete__load_config(server, &config, why, why_size);
    if (status != METE_OK) {
        return status;
    }
    status = mete__make_tls(server, config, &tls, why, why_size);
    if (status == METE_OK && tls == NULL && server->needs_tls) {
        snprintf(why, why_size, "tls: a listener with TLS needs the certificate; restart to listen without");
        status = METE_EINVAL;
    }
    if (status != METE_OK) {
        mete__config_destroy(config);
        return status;
    }
    mete__fit_descriptors(config);
    mete__log_warnings(config);
    mete__override_listeners(server, config);
    warn_of_restart(server->loops[0].snapshot->config, config);
    bool is_json = config->log_format == METE__LOG_JSON;
    enum mete__log_level level = (enum mete__log_level)config->log_level;
    status = mete__engine_reload(server->engine, config, why, why_size);
    if (status != METE_OK) {
        mete__tls_context_release(tls);
        return status;
    }
    mete__log_configure(is_json, level);
    mete__server_set_tls(server, tls);
    return METE_OK;
}

/* With the time, as services of Type=notify-reload must: sd_notify(3). */
static void tell_reloading(void)
{
    char state[64];
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(state, sizeof state, "RELOADING=1\nMONOTONIC_USEC=%llu",
             (unsigned long long)now.tv_sec * 1000000 + (unsigned long long)now.tv_nsec / 1000);
    mete__notify(state);
}

void mete__server_reload(struct mete__server *server, const char *cause)
{
    char why[WHY_SIZE];
    if (__atomic_load_n(&server->is_draining, __ATOMIC_ACQUIRE)) {
        return;
    }
    tell_reloading();
    if (reload(server, why, sizeof why) != METE_OK) {
        __atomic_fetch_add(&server->reloads_failed, 1, __ATOMIC_RELAXED);
        log_lines(METE__LOG_ERROR, "configuration not taken, the old one stays", why);
    } else {
        __atomic_fetch_add(&server->reloads, 1, __ATOMIC_RELAXED);
        METE__LOG(METE__LOG_INFO, "configuration taken", METE__LOG_TEXT("cause", cause));
        for (unsigned i = 0; i < server->loop_count; i++) {
            mete__loop_wake(&server->loops[i]);
        }
    }
    mete__notify("READY=1");
}

struct mete__tls_context *mete__server_hold_tls(struct mete__server *server)
{
    pthread_mutex_lock(&server->tls_mutex);
    struct mete__tls_context *held = server->tls != NULL ? mete__tls_context_hold(server->tls) : NULL;
    pthread_mutex_unlock(&server->tls_mutex);
    return held;
}

void mete__server_set_tls(struct mete__server *server, struct mete__tls_context *tls)
{
    pthread_mutex_lock(&server->tls_mutex);
    struct mete__tls_context *old = server->tls;
    server->tls = tls;
    pthread_mutex_unlock(&server->tls_mutex);
    mete__tls_context_release(old);
}
