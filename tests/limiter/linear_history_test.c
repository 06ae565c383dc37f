/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recorded histories of real threads on one key, each checked for an order of the
 * calls that explains every answer and keeps the order of calls that did not
 * overlap.  The model is one word and the pure algorithm (mete/algorithm.h).
 * METE_TEST_SCALE multiplies the histories.
 */
#include "limiter/concurrency.h"

#include <mete/algorithm.h>

/* As many as processors that every machine here has: more would take turns. */
#define MEMBERS 2u
#define CALLS_EACH 4u
#define CALLS (MEMBERS * CALLS_EACH)

#ifdef __SANITIZE_THREAD__
#define ROUNDS 1000
#else
#define ROUNDS 10000
#endif

enum op { OP_TAKE, OP_TAKE_MORE, OP_PEEK, OP_RESERVE, OP_REFUND, OP_RESET, OPS };

struct call {
    enum op op;
    uint64_t cost;
    uint64_t now_ns;
    uint64_t began; /* on one counter for all */
    uint64_t ended;
    struct mete_decision out;
};

struct bench {
    struct crew crew;
    mete_limiter *limiter;
    struct mete_profile profile;
    uint64_t rounds;
    uint64_t counter;
    uint64_t seed;
    uint64_t unexplained;
    uint64_t overlapping; /* histories that were no simple row */
    struct call calls[CALLS];
};

static uint64_t stamp(struct bench *bench)
{
    return __atomic_fetch_add(&bench->counter, 1, __ATOMIC_SEQ_CST);
}

/* --- the library ------------------------------------------------------------------ */

static void perform(struct bench *bench, uint64_t round, struct call *call)
{
    struct mete_request request = {
        .key = &round, .key_len = sizeof round, .cost = call->cost, .now_ns = call->now_ns, .wait_ns_max = SEC};
    mete_status status = METE_OK;
    call->out = (struct mete_decision){0};
    call->began = stamp(bench);
    switch (call->op) {
    case OP_PEEK:
        status = mete_peek(bench->limiter, &request, &call->out);
        break;
    case OP_RESERVE:
        status = mete_reserve(bench->limiter, &request, &call->out);
        break;
    case OP_REFUND:
        status = mete_refund(bench->limiter, &request, &call->out);
        break;
    case OP_RESET:
        status = mete_reset(bench->limiter, &round, sizeof round);
        break;
    default:
        status = mete_take(bench->limiter, &request, &call->out);
        break;
    }
    call->ended = stamp(bench);
    if (status != METE_OK) {
        add_to(&bench->unexplained, 1);
    }
}

/* --- the model -------------------------------------------------------------------- */

static uint64_t model_step(const struct mete_profile *profile, uint64_t word, const struct call *call,
                           struct mete_decision *out)
{
    *out = (struct mete_decision){0};
    switch (call->op) {
    case OP_PEEK:
        mete_word_peek(profile, word, call->cost, call->now_ns, out);
        return word;
    case OP_RESERVE:
        mete_word_reserve(profile, &word, call->cost, call->now_ns, SEC, out);
        return word;
    case OP_REFUND:
        mete_word_refund(profile, &word, call->cost, call->now_ns, out);
        return word;
    case OP_RESET:
        return 0;
    default:
        mete_word_take(profile, &word, call->cost, call->now_ns, out);
        return word;
    }
}

static bool is_same(const struct mete_decision *a, const struct mete_decision *b)
{
    return a->allowed == b->allowed && a->limit == b->limit && a->remaining == b->remaining &&
           a->wait_ns == b->wait_ns && a->retry_after_ns == b->retry_after_ns && a->reset_after_ns == b->reset_after_ns;
}

/* May the call be the next one: none that is left had ended before it began. */
static bool may_be_next(const struct bench *bench, unsigned done, unsigned i)
{
    for (unsigned j = 0; j < CALLS; j++) {
        if ((done >> j & 1) == 0 && bench->calls[j].ended < bench->calls[i].began) {
            return false;
        }
    }
    return true;
}

static bool explain(const struct bench *bench, unsigned done, uint64_t word)
{
    if (done == (1u << CALLS) - 1) {
        return true;
    }
    for (unsigned i = 0; i < CALLS; i++) {
        struct mete_decision out;
        if ((done >> i & 1) != 0 || !may_be_next(bench, done, i)) {
            continue;
        }
        uint64_t next = model_step(&bench->profile, word, &bench->calls[i], &out);
        if (is_same(&out, &bench->calls[i].out) && explain(bench, done | 1u << i, next)) {
            return true;
        }
    }
    return false;
}

/* --- rounds ----------------------------------------------------------------------- */

static void draw_calls(struct bench *bench)
{
    for (unsigned i = 0; i < CALLS; i++) {
        struct call *call = &bench->calls[i];
        call->op = (enum op)draw(&bench->seed, OPS);
        call->cost = call->op == OP_TAKE_MORE ? 2 : 1;
        call->now_ns = 1000 * SEC + draw(&bench->seed, 3) * SEC / 3;
    }
}

static bool has_overlap(const struct bench *bench)
{
    for (unsigned i = 0; i < CALLS; i++) {
        if (bench->calls[i].ended != bench->calls[i].began + 1) {
            return true;
        }
    }
    return false;
}

static void run(void *context, unsigned member)
{
    struct bench *bench = context;
    for (uint64_t round = 0; round < bench->rounds; round++) {
        if (member == 0) {
            draw_calls(bench);
        }
        crew_meet(&bench->crew);
        for (unsigned i = 0; i < CALLS_EACH; i++) {
            perform(bench, round, &bench->calls[member * CALLS_EACH + i]);
        }
        crew_meet(&bench->crew);
        if (member == 0) {
            bench->overlapping += has_overlap(bench);
            if (!explain(bench, 0, 0)) {
                add_to(&bench->unexplained, 1);
            }
        }
    }
}

static void play(const char *text)
{
    struct mete_limit limit = limit_of(text);
    struct bench bench = {.rounds = ROUNDS * test_scale(), .seed = 1};
    bench.crew = (struct crew){.run = run, .context = &bench, .members = MEMBERS};
    assert_int_equal(mete_profile_init(&bench.profile, &limit), METE_OK);
    /* So wide that no cell is ever taken over: else a key might begin later than asked. */
    mete_store *store = open_store(16 * bench.rounds, METE_FULL_EVICT, NULL);
    bench.limiter = open_limiter(store, text);
    crew_run(&bench.crew);
    print_message("%s: %llu histories, %llu with calls that overlapped\n", text, (unsigned long long)bench.rounds,
                  (unsigned long long)bench.overlapping);
    assert_int_equal(bench.unexplained, 0);
    mete_limiter_destroy(bench.limiter);
    mete_store_destroy(store);
}

static void test_buckets(void **state)
{
    (void)state;
    play("3/1s burst 3");
    play("70/1m burst 2");
    play("leaky_bucket 3/1s burst 3");
}

static void test_windows(void **state)
{
    (void)state;
    play("fixed_window 3/1s");
    play("fixed_window 3/1s anchored");
    play("sliding_window 3/1s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buckets),
        cmocka_unit_test(test_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
