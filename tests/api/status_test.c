/* SPDX-License-Identifier: Apache-2.0 */
/* Statuses, the version, and NULL in every position of every function that takes a pointer. */
#include "api.h"

#include <mete/algorithm.h>
#include <mete/queue.h>

static void status_text_of_unknown(void **state)
{
    (void)state;
    static const int unknown[] = {1, 2, -10, -1000, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < COUNT_OF(unknown); i++) {
        const char *text = mete_status_text((mete_status)unknown[i]);
        assert_non_null(text);
        assert_true(strlen(text) > 0);
    }
}

static void status_text_of_each(void **state)
{
    (void)state;
    for (int status = METE_ENOTSUP; status <= METE_OK; status++) {
        const char *text = mete_status_text((mete_status)status);
        assert_non_null(text);
        assert_true(strlen(text) > 0);
        assert_ptr_equal(text, mete_status_text((mete_status)status));
        for (int other = METE_ENOTSUP; other < status; other++) {
            assert_string_not_equal(text, mete_status_text((mete_status)other));
        }
    }
}

static void version_is_of_header(void **state)
{
    (void)state;
    int numbers[3] = {-1, -1, -1};
    assert_string_equal(mete_version(), METE_VERSION);
    assert_int_equal(sscanf(mete_version(), "%d.%d.%d", &numbers[0], &numbers[1], &numbers[2]), 3);
}

static void null_limit(void **state)
{
    (void)state;
    struct mete_limit limit;
    char why[100] = "";
    char text[8] = "unused";
    assert_refused(mete_limit_parse(NULL, &limit), METE_EINVAL, &limit);
    assert_refused(mete_limit_parse_why(NULL, &limit, why, sizeof(why)), METE_EINVAL, &limit);
    assert_true(strlen(why) > 0);
    assert_int_equal(mete_limit_parse("1/s", NULL), METE_EINVAL);
    assert_int_equal(mete_limit_parse_why("1/s", NULL, NULL, 0), METE_EINVAL);
    assert_int_equal(mete_limit_check(NULL, NULL, 0), METE_EINVAL);
    assert_int_equal(mete_limit_check(NULL, why, sizeof(why)), METE_EINVAL);
    assert_int_equal(mete_limit_format(NULL, text, sizeof(text)), 0);
    limit = api_limit("1/s");
    assert_true(mete_limit_format(&limit, NULL, 0) > 0);
}

static void null_store(void **state)
{
    (void)state;
    struct mete_store_stats stats;
    uint64_t live;
    assert_int_equal(mete_store_create(NULL, NULL), METE_EINVAL);
    assert_int_equal(mete_store_create_why(NULL, NULL, NULL, 0), METE_EINVAL);
    mete_store_destroy(NULL);
    mete_limiter_destroy(NULL);
    mete_queue_destroy(NULL);
    assert_int_equal(mete_store_now(NULL), 0);
    assert_refused(mete_store_stats(NULL, &stats), METE_EINVAL, &stats);
    assert_refused(mete_store_keys_live(NULL, &live), METE_EINVAL, &live);
    struct api_world world;
    api_open(&world, "1/s");
    assert_int_equal(mete_store_stats(world.store, NULL), METE_EINVAL);
    assert_int_equal(mete_store_keys_live(world.store, NULL), METE_EINVAL);
    api_close(&world);
}

static void null_limiter(void **state)
{
    (void)state;
    struct api_world world;
    struct mete_limit limit = api_limit("1/s");
    mete_limiter *limiter;
    api_open(&world, "1/s");
    assert_refused(mete_limiter_create(NULL, "n", &limit, &limiter), METE_EINVAL, &limiter);
    assert_refused(mete_limiter_create(world.store, NULL, &limit, &limiter), METE_EINVAL, &limiter);
    assert_refused(mete_limiter_create(world.store, "n", NULL, &limiter), METE_EINVAL, &limiter);
    assert_int_equal(mete_limiter_create(world.store, "n", &limit, NULL), METE_EINVAL);
    assert_int_equal(mete_limiter_create_why(world.store, "n", &limit, NULL, NULL, 0), METE_EINVAL);
    assert_int_equal(mete_limiter_set_limit(NULL, &limit), METE_EINVAL);
    assert_int_equal(mete_limiter_set_limit(world.limiter, NULL), METE_EINVAL);
    assert_refused(mete_limiter_limit(NULL, &limit), METE_EINVAL, &limit);
    assert_int_equal(mete_limiter_limit(world.limiter, NULL), METE_EINVAL);
    api_close(&world);
}

typedef mete_status decide(mete_limiter *, const struct mete_request *, struct mete_decision *);

static void null_deciding(void **state)
{
    (void)state;
    static decide *const calls[] = {mete_take, mete_peek, mete_reserve, mete_refund, mete_wait};
    struct api_world world;
    struct mete_request request = api_request("k", 1);
    struct mete_request no_key = {.key = NULL, .key_len = 1, .cost = 1, .now_ns = METE_NOW};
    struct mete_decision decision;
    api_open(&world, "1/s burst 9");
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        assert_refused(calls[i](NULL, &request, &decision), METE_EINVAL, &decision);
        assert_refused(calls[i](world.limiter, NULL, &decision), METE_EINVAL, &decision);
        assert_refused(calls[i](world.limiter, &no_key, &decision), METE_EINVAL, &decision);
        assert_int_equal(calls[i](world.limiter, &request, NULL), METE_EINVAL);
    }
    assert_false(mete_allow(NULL, "k", 1));
    assert_false(mete_allow(world.limiter, NULL, 1));
    assert_int_equal(mete_reset(NULL, "k", 1), METE_EINVAL);
    assert_int_equal(mete_reset(world.limiter, NULL, 1), METE_EINVAL);
    /* None of these took anything. */
    assert_int_equal(api_peek(&world, 0, "k", 0).remaining, 9);
    assert_int_equal(api_keys_live(world.store), 0);
    api_close(&world);
}

static void null_many(void **state)
{
    (void)state;
    struct api_world world;
    struct mete_decision decisions[2];
    struct mete_request requests[2] = {api_request("k", 1), {.key = NULL, .key_len = 1, .cost = 1, .now_ns = METE_NOW}};
    size_t binding;
    api_open(&world, "1/s burst 9");
    assert_refused(mete_take_batch(NULL, requests, 1, &decisions[0]), METE_EINVAL, &decisions);
    assert_refused(mete_take_batch(world.limiter, NULL, 1, &decisions[0]), METE_EINVAL, &decisions);
    assert_refused(mete_take_batch(world.limiter, requests, 2, &decisions[0]), METE_EINVAL, &decisions);
    assert_int_equal(mete_take_batch(world.limiter, requests, 1, NULL), METE_EINVAL);
    struct mete_demand demands[2] = {{world.limiter, requests[0]}, {world.limiter, requests[1]}};
    api_mark(&binding, sizeof(binding));
    assert_refused(mete_take_all(NULL, 1, &decisions[0], &binding), METE_EINVAL, &decisions);
    assert_refused(mete_take_all(demands, 2, &decisions[0], &binding), METE_EINVAL, &decisions);
    assert_int_equal(mete_take_all(demands, 1, NULL, &binding), METE_EINVAL);
    demands[1] = (struct mete_demand){NULL, requests[0]};
    assert_refused(mete_take_all(demands, 2, &decisions[0], &binding), METE_EINVAL, &decisions);
    assert_true(api_is_marked(&binding, sizeof(binding)));
    assert_int_equal(api_peek(&world, 0, "k", 0).remaining, 9);
    api_close(&world);
}

static void null_words(void **state)
{
    (void)state;
    struct mete_limit limit = api_limit("5/s");
    struct mete_profile profile;
    struct mete_decision decision;
    uint64_t word = 0;
    assert_refused(mete_profile_init(&profile, NULL), METE_EINVAL, &profile);
    assert_int_equal(mete_profile_init(NULL, &limit), METE_EINVAL);
    assert_int_equal(mete_profile_init(&profile, &limit), METE_OK);
    assert_refused(mete_word_take(NULL, &word, 1, 0, &decision), METE_EINVAL, &decision);
    assert_refused(mete_word_take(&profile, NULL, 1, 0, &decision), METE_EINVAL, &decision);
    assert_int_equal(mete_word_take(&profile, &word, 1, 0, NULL), METE_EINVAL);
    assert_refused(mete_word_peek(NULL, word, 1, 0, &decision), METE_EINVAL, &decision);
    assert_int_equal(mete_word_peek(&profile, word, 1, 0, NULL), METE_EINVAL);
    assert_refused(mete_word_reserve(NULL, &word, 1, 0, 0, &decision), METE_EINVAL, &decision);
    assert_refused(mete_word_reserve(&profile, NULL, 1, 0, 0, &decision), METE_EINVAL, &decision);
    assert_int_equal(mete_word_reserve(&profile, &word, 1, 0, 0, NULL), METE_EINVAL);
    assert_refused(mete_word_refund(NULL, &word, 1, 0, &decision), METE_EINVAL, &decision);
    assert_refused(mete_word_refund(&profile, NULL, 1, 0, &decision), METE_EINVAL, &decision);
    assert_int_equal(mete_word_refund(&profile, &word, 1, 0, NULL), METE_EINVAL);
    assert_int_equal(mete_word_convert(NULL, &profile, &word, 0), METE_EINVAL);
    assert_int_equal(mete_word_convert(&profile, NULL, &word, 0), METE_EINVAL);
    assert_int_equal(mete_word_convert(&profile, &profile, NULL, 0), METE_EINVAL);
    assert_int_equal(word, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_text_of_unknown),
        cmocka_unit_test(status_text_of_each),
        cmocka_unit_test(version_is_of_header),
        cmocka_unit_test(null_limit),
        cmocka_unit_test(null_store),
        cmocka_unit_test(null_limiter),
        cmocka_unit_test(null_deciding),
        cmocka_unit_test(null_many),
        cmocka_unit_test(null_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
