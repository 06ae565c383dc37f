/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All or nothing takes from sliding logs last: what it gives back after a lost
 * race is then never a log's newest unit, which may be a rival's.
 */
#include "api/api.h"

#include "limiter/decide.h"

#define START (100 * SEC)
#define LATER (104 * SEC)

static struct {
    struct mete__judge own;
    mete_limiter *bucket;
    mete_limiter *log;
    unsigned asked;
} rival;

static struct mete_decision take_at(mete_limiter *limiter, const char *key, uint64_t cost, uint64_t now_ns)
{
    struct mete_request request = api_request(key, cost);
    struct mete_decision decision;
    request.now_ns = now_ns;
    assert_int_equal(mete_take(limiter, &request, &decision), METE_OK);
    return decision;
}

/* The store's judge is asked when the bucket's key gets its place: after the look at all demands. */
static uint64_t rank_after_the_rival(void *context, const struct mete__pair *address, struct mete__pair cell,
                                     uint64_t now_ns, uint64_t *idle_at_ns)
{
    if (rival.asked++ == 0) {
        assert_true(take_at(rival.bucket, "k", 1, START).allowed);
        assert_true(take_at(rival.log, "k", 1, LATER).allowed);
    }
    return rival.own.rank(context, address, cell, now_ns, idle_at_ns);
}

static void play(bool is_log_first)
{
    struct api_world world;
    struct mete_store_options options = api_options(&world);
    struct mete_decision decisions[2];
    options.keys_max = 2;
    options.on_full = METE_FULL_DENY;
    api_set(&world, START);
    world.store = api_store(&options);
    world.limiter = api_limiter(world.store, "bucket", "1/1h burst 1");
    rival.bucket = world.limiter;
    rival.log = api_limiter(world.store, "log", "sliding_log 2/10s");
    rival.own = world.store->judge;
    rival.asked = 0;
    assert_true(take_at(rival.bucket, "neighbour", 1, START).allowed);
    world.store->judge.rank = rank_after_the_rival;

    struct mete_demand demands[2] = {{rival.bucket, api_request("k", 1)}, {rival.log, api_request("k", 1)}};
    demands[0].request.now_ns = START;
    demands[1].request.now_ns = START;
    if (is_log_first) {
        struct mete_demand first = demands[0];
        demands[0] = demands[1];
        demands[1] = first;
    }
    assert_int_equal(mete_take_all(demands, 2, decisions, NULL), METE_OK);
    assert_true(rival.asked > 0);
    assert_false(decisions[is_log_first ? 1 : 0].allowed);
    /* The rival's unit, and none of ours, until ten seconds after the rival took it. */
    assert_int_equal(take_at(rival.log, "k", 0, LATER).remaining, 1);
    assert_int_equal(take_at(rival.log, "k", 0, LATER + 10 * SEC - 1).remaining, 1);
    assert_int_equal(take_at(rival.log, "k", 0, LATER + 10 * SEC).remaining, 2);
    mete_limiter_destroy(rival.log);
    api_close(&world);
}

static void a_rivals_unit_keeps_its_time(void **state)
{
    (void)state;
    play(false);
    play(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rivals_unit_keeps_its_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
