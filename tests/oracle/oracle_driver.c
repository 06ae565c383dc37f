/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs operations through the public interface and writes what was decided:
 * the bridge between the library and the independent model in Python.
 *
 *   oracle_driver word|store < operations > replies
 *
 * Every operation is one struct operation; L and M are followed by a struct
 * limit_text.  Every operation is answered by one struct reply, in order.
 * Little-endian, no padding: harness.py packs the same layouts.
 *
 *   both   L make the limit of `slot`
 *          t take, p peek, r reserve, f refund, on `key` under the limit `slot`
 *   word   N forget every word;  c carry the word of `key` from limit `slot` to `extra`
 *          dry != 0: on a copy of the word, which is then dropped
 *   store  N a new store of n keys whose clock shows t;  K set the clock to t
 *          M change the limit of `slot`;  x reset `key`;  b the next `extra` takes are one batch
 */
#include <mete/algorithm.h>
#include <mete/mete.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 16, KEYS = 256, BATCH_MAX = 256 };

struct operation {
    uint8_t code;
    uint8_t key;
    uint8_t slot;
    uint8_t dry;
    uint32_t extra;
    uint64_t t;
    uint64_t n;
    uint64_t wait_ns_max;
};

struct limit_text {
    uint32_t algorithm;
    uint32_t alignment;
    uint64_t count;
    uint64_t period_ns;
    uint64_t burst;
    char time_zone[METE_TIME_ZONE_SIZE];
};

struct reply {
    int32_t status;
    int32_t check; /* L, M: what mete_limit_check said */
    uint64_t allowed;
    uint64_t limit;
    uint64_t remaining;
    uint64_t wait_ns;
    uint64_t retry_after_ns;
    uint64_t reset_after_ns;
    uint64_t word; /* word mode: the key's word afterwards */
    uint64_t idle; /* word mode: mete_word_is_idle of it at t */
};

_Static_assert(sizeof(struct operation) == 32, "harness.py packs 32 bytes");
_Static_assert(sizeof(struct limit_text) == 72, "harness.py packs 72 bytes");
_Static_assert(sizeof(struct reply) == 72, "harness.py unpacks 72 bytes");

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "oracle_driver: %s\n", what);
    exit(2);
}

static bool read_exactly(void *to, size_t size)
{
    size_t got = fread(to, 1, size, stdin);
    if (got != 0 && got != size) {
        fail("the stream ends inside a record");
    }
    return got == size;
}

static void write_reply(const struct reply *reply)
{
    if (fwrite(reply, sizeof(*reply), 1, stdout) != 1) {
        fail("cannot write");
    }
}

static struct mete_limit read_limit(void)
{
    struct limit_text text;
    if (!read_exactly(&text, sizeof(text))) {
        fail("a limit is missing");
    }
    struct mete_limit limit = {.algorithm = (enum mete_algorithm)text.algorithm,
                               .count = text.count,
                               .period_ns = text.period_ns,
                               .burst = text.burst,
                               .alignment = (enum mete_alignment)text.alignment};
    memcpy(limit.time_zone, text.time_zone, sizeof(limit.time_zone));
    return limit;
}

static void answer(struct reply *reply, mete_status status, const struct mete_decision *decision)
{
    reply->status = status;
    if (status != METE_OK) {
        return;
    }
    reply->allowed = decision->allowed;
    reply->limit = decision->limit;
    reply->remaining = decision->remaining;
    reply->wait_ns = decision->wait_ns;
    reply->retry_after_ns = decision->retry_after_ns;
    reply->reset_after_ns = decision->reset_after_ns;
}

/* --- words -------------------------------------------------------------- */

static struct mete_profile profiles[SLOTS];
static uint64_t words[KEYS];

static mete_status word_decide(const struct operation *op, uint64_t *word, struct mete_decision *decision)
{
    const struct mete_profile *profile = &profiles[op->slot % SLOTS];
    switch (op->code) {
    case 't':
        return mete_word_take(profile, word, op->n, op->t, decision);
    case 'p':
        return mete_word_peek(profile, *word, op->n, op->t, decision);
    case 'r':
        return mete_word_reserve(profile, word, op->n, op->t, op->wait_ns_max, decision);
    case 'f':
        return mete_word_refund(profile, word, op->n, op->t, decision);
    default:
        fail("an operation words do not have");
    }
}

static void word_step(const struct operation *op, struct reply *reply)
{
    struct mete_decision decision;
    uint64_t *word = &words[op->key];
    uint64_t copy = *word;
    if (op->code == 'L') {
        struct mete_limit limit = read_limit();
        reply->status = mete_profile_init(&profiles[op->slot % SLOTS], &limit);
        reply->check = mete_limit_check(&limit, NULL, 0);
    } else if (op->code == 'N') {
        memset(words, 0, sizeof(words));
    } else if (op->code == 'c') {
        reply->status = mete_word_convert(&profiles[op->slot % SLOTS], &profiles[op->extra % SLOTS], word, op->t);
        reply->word = *word;
    } else {
        answer(reply, word_decide(op, op->dry != 0 ? &copy : word, &decision), &decision);
        reply->word = op->dry != 0 ? copy : *word;
        reply->idle = mete_word_is_idle(&profiles[op->slot % SLOTS], reply->word, op->t);
    }
}

/* --- store -------------------------------------------------------------- */

static mete_store *store;
static mete_limiter *limiters[SLOTS];
static uint64_t clock_ns;

static uint64_t clock_read(void *context)
{
    (void)context;
    return clock_ns;
}

static void store_close(void)
{
    for (size_t i = 0; i < SLOTS; i++) {
        mete_limiter_destroy(limiters[i]);
        limiters[i] = NULL;
    }
    mete_store_destroy(store);
    store = NULL;
}

static mete_status store_open(const struct operation *op)
{
    static const struct mete_clock clock = {clock_read, NULL};
    struct mete_store_options options = METE_STORE_OPTIONS_INIT;
    store_close();
    clock_ns = op->t;
    options.keys_max = op->n;
    options.clock = &clock;
    options.flags = METE_STORE_NO_HUGE_PAGES | METE_STORE_NO_PREFAULT;
    return mete_store_create(&options, &store);
}

static mete_status store_limit(const struct operation *op, struct reply *reply)
{
    struct mete_limit limit = read_limit();
    reply->check = mete_limit_check(&limit, NULL, 0);
    mete_limiter **slot = &limiters[op->slot % SLOTS];
    if (op->code == 'M') {
        return mete_limiter_set_limit(*slot, &limit);
    }
    char name[] = {'l', (char)('a' + op->slot % SLOTS), '\0'};
    mete_limiter_destroy(*slot);
    *slot = NULL;
    return mete_limiter_create(store, name, &limit, slot);
}

static struct mete_request request_of(const struct operation *op)
{
    struct mete_request request = METE_REQUEST_INIT;
    request.key = &op->key;
    request.key_len = sizeof(op->key);
    request.cost = op->n;
    request.now_ns = op->t;
    request.wait_ns_max = op->wait_ns_max;
    return request;
}

static mete_status store_decide(const struct operation *op, struct mete_decision *decision)
{
    mete_limiter *limiter = limiters[op->slot % SLOTS];
    struct mete_request request = request_of(op);
    switch (op->code) {
    case 't':
        return mete_take(limiter, &request, decision);
    case 'p':
        return mete_peek(limiter, &request, decision);
    case 'r':
        return mete_reserve(limiter, &request, decision);
    case 'f':
        return mete_refund(limiter, &request, decision);
    default:
        fail("an operation stores do not have");
    }
}

/* Answers the b itself and each of its takes. */
static void store_batch(const struct operation *op, struct reply *reply)
{
    static struct operation takes[BATCH_MAX];
    static struct mete_request requests[BATCH_MAX];
    static struct mete_decision decisions[BATCH_MAX];
    if (op->extra == 0 || op->extra > BATCH_MAX) {
        fail("a batch of a length it cannot have");
    }
    for (uint32_t i = 0; i < op->extra; i++) {
        if (!read_exactly(&takes[i], sizeof(takes[i])) || takes[i].code != 't') {
            fail("a batch is of takes");
        }
        requests[i] = request_of(&takes[i]);
    }
    reply->status = mete_take_batch(limiters[op->slot % SLOTS], requests, op->extra, decisions);
    write_reply(reply);
    for (uint32_t i = 0; i < op->extra; i++) {
        struct reply each = {0};
        answer(&each, reply->status, &decisions[i]);
        write_reply(&each);
    }
}

static void store_step(const struct operation *op, struct reply *reply)
{
    struct mete_decision decision;
    if (op->code == 'N') {
        reply->status = store_open(op);
    } else if (op->code == 'K') {
        clock_ns = op->t;
    } else if (op->code == 'L' || op->code == 'M') {
        reply->status = store_limit(op, reply);
    } else if (op->code == 'x') {
        reply->status = mete_reset(limiters[op->slot % SLOTS], &op->key, sizeof(op->key));
    } else {
        answer(reply, store_decide(op, &decision), &decision);
    }
}

int main(int argc, char **argv)
{
    bool is_word = argc == 2 && strcmp(argv[1], "word") == 0;
    if (!is_word && (argc != 2 || strcmp(argv[1], "store") != 0)) {
        fail("usage: oracle_driver word|store");
    }
    struct operation op;
    while (read_exactly(&op, sizeof(op))) {
        struct reply reply = {0};
        if (!is_word && op.code == 'b') {
            store_batch(&op, &reply);
            continue;
        }
        if (is_word) {
            word_step(&op, &reply);
        } else {
            store_step(&op, &reply);
        }
        write_reply(&reply);
    }
    store_close();
    if (fflush(stdout) != 0) {
        fail("cannot write");
    }
    return 0;
}
