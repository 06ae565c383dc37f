# SPDX-License-Identifier: Apache-2.0
"""Mutants of the daemon: codecs, connections, sessions, decisions by policy, access, reloads."""

RESP = "src/wire/resp.c"
OUT = "src/wire/out.c"
THROTTLE = "src/server/resp_throttle.c"
POLICY = "src/server/resp_policy.c"
SESSION = "src/server/resp_session.c"
DECIDE = "src/server/engine_decide.c"
LIMITERS = "src/server/engine_limiters.c"
STORES = "src/server/engine_stores.c"
BATCH = "src/server/batch.c"
ACCESS_H = "src/server/access.h"
ACCESS = "src/server/access.c"
SEND = "src/server/conn_send.c"
RECEIVE = "src/server/conn_receive.c"
END = "src/server/conn_end.c"
CHECK = "src/server/http_check.c"
LOGIN = "src/server/http_login.c"
RELOAD = "src/server/reload.c"

MUTANTS = [
    # --- codecs
    ("resp-bulk-unbounded", RESP, "if ((uint64_t)len > bounds->bulk_max) {", "if ((uint64_t)len > SIZE_MAX / 2) {",
     "wire/resp_test", "an argument may be as long as the client says"),
    ("resp-end-of-argument-unseen", RESP, "if (reader->at[len] != '\\r' || reader->at[len + 1] != '\\n') {", "if (false) {",
     "wire/resp_test", "what follows a wrong length is read as something else"),
    ("resp-integer-with-zeros", RESP, "(*at == '0' && (end - at > 1 || is_negative))", "false", "wire/resp_test",
     "'01' and '-0' are numbers"),
    ("out-unbounded", OUT, "if (out->is_failed || more > out->size_max - out->len) {", "if (out->is_failed) {",
     "wire/resp_test", "a buffer grows without end"),
    # --- replies
    ("throttle-times-rounded-down", THROTTLE, "mete__div_ceil_u64(ns, NS_PER_S)", "(ns / NS_PER_S)",
     "serve/test_throttle_examples", "a denied request is told to retry too early"),
    ("throttle-never-is-a-time", THROTTLE, "!decision->allowed && decision->retry_after_ns != METE_NEVER;",
     "!decision->allowed;", "serve/test_throttle_examples", "what can never pass is told to wait"),
    ("throttle-burst-not-one-more", THROTTLE, "    own.capacity++;\n    mete_limiter *limiter", "    mete_limiter *limiter",
     "serve/test_throttle_examples", "max_burst is taken for the limit"),
    ("take-cost-is-default", POLICY, "        ask->cost = (uint64_t)number;\n", "        (void)number;\n",
     "serve/test_policies", "COST is read and not charged"),
    # --- order and batches
    ("batch-not-settled", SESSION, "if ((command->flags & METE__COMMAND_BATCHED) == 0) {", "if (false) {",
     "server/test_pipeline", "PING is answered before the takes in front of it"),
    ("batch-neighbours-of-another-limit", BATCH, "while (end < count && loop->limiters[end] == loop->limiters[i]) {",
     "while (end < count) {", "server/test_throttle_pipeline", "a request is decided by its neighbour's limit"),
    # --- policies
    ("dry-run-denies", DECIDE, "out->allowed = !is_denied || policy->dry_run;", "out->allowed = !is_denied;",
     "serve/test_policies", "a dry run denies"),
    ("fixed-cost-ignored", DECIDE, "return described->has_cost && ask->request.cost > 0 ? described->cost : ask->request.cost;",
     "return ask->request.cost;", "serve/test_policies", "a limit of requests counts bytes"),
    ("reload-sets-nothing", LIMITERS, "status = mete_limiter_set_limit(each->limiter, &each->wanted);",
     "status = METE_OK;", "serve/test_reload", "a reload changes no limit"),
    ("plans-share-no-keys", LIMITERS, 'snprintf(name, sizeof name, "%s/%s", policy->name, described->name);',
     'snprintf(name, sizeof name, "%s/%s/%zu", policy->name, described->name, plan);', "serve/test_reload",
     "a key that moves to another plan starts anew"),
    # --- who may
    ("any-policy", ACCESS_H, "return user->may_use_all || (user->policies", "return true || (user->policies",
     "server/test_http", "users are not confined to their policies"),
    ("any-password", ACCESS, "bool is_same = CRYPTO_memcmp(digest, user->password_sha256, sizeof(digest)) == 0 && user->has_password;",
     "bool is_same = user->has_password;", "server/access_test", "any password opens"),
    ("own-limits-for-all", SESSION, "(command->flags & METE__COMMAND_OWN_LIMIT) != 0 && !user->may_bring_limits",
     "false", "serve/test_policies", "everybody may bring limits"),
    ("rebinding-unseen", LOGIN, "return is_anybody && host != NULL && is_browser(call->request) && !is_own_name(host->value);",
     "return false;", "server/test_http", "a page elsewhere reads the top keys"),
    ("path-fields-disagree", CHECK, "if (field != NULL && original != NULL &&", "if (false && field != NULL && original != NULL &&",
     "server/test_http", "a client behind nginx chooses its key"),
    # --- connections
    ("choke-never-ends", SEND, "if (conn->io->is_held && !mete__conn_is_choked(conn)) {", "if (false) {",
     "server/test_pipeline", "a client that read slowly for a while is never served again"),
    ("choke-missing", RECEIVE, "} else if (mete__conn_is_choked(conn)) {", "} else if (false) {",
     "server/test_pipeline", "what waits unread is taken for a request that is too large"),
    ("slow-requests-live", END, "if (is_slow && !io->is_finishing) {", "if (false) {", "serve/test_faults_slow",
     "a client that never finishes a line stays"),
    ("restart-unsaid", RELOAD, "if (old->threads != fresh->threads) {", "if (false) {", "serve/test_reload",
     "a changed setting is silently not taken"),
    ("store-error-names-no-file", STORES, 'path != NULL ? path : ""', '""', "serve/test_store",
     "the error does not say which file"),
]
