/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue under random histories, compared with a model that keeps the rule
 * in its plainest form.  METE_TEST_SCALE multiplies the histories;
 * METE_TEST_SEED repeats some.
 */
#include <mete/queue.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define SEC UINT64_C(1000000000)

typedef unsigned __int128 u128;

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    uint64_t value = text != NULL ? strtoull(text, NULL, 10) : 0;
    return value != 0 ? value : otherwise;
}

static uint64_t real_ns(void)
{
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SEC + (uint64_t)now.tv_nsec;
}

/* xorshift64*; never 0 inside. */
static uint64_t random_next(uint64_t *random)
{
    *random ^= *random >> 12;
    *random ^= *random << 25;
    *random ^= *random >> 27;
    return *random * UINT64_C(0x2545F4914F6CDD1D) >> 11;
}

static void *item_of(uint64_t number)
{
    return (void *)(uintptr_t)number;
}

#define MODEL_MAX 16

/* Times are in units of 1 / count ns, so that nothing is ever rounded. */
struct model {
    uint64_t count, period_ns, now_ns;
    size_t capacity, len;
    u128 slot; /* the next one */
    uint64_t items[MODEL_MAX];
    uint64_t tickets[MODEL_MAX];
};

static uint64_t ceil_ns(const struct model *model, u128 time)
{
    return (uint64_t)((time + model->count - 1) / model->count);
}

static void model_slot_now_if(struct model *model, bool missed)
{
    if (missed) {
        model->slot = (u128)model->now_ns * model->count;
    }
}

/* Returns the wait. */
static uint64_t model_push(struct model *model, uint64_t item, uint64_t ticket)
{
    model_slot_now_if(model, model->len == 0 && model->now_ns >= ceil_ns(model, model->slot));
    model_slot_now_if(model, model->now_ns >= ceil_ns(model, model->slot + model->period_ns));
    uint64_t due_ns = ceil_ns(model, model->slot + (u128)model->len * model->period_ns);
    model->items[model->len] = item;
    model->tickets[model->len++] = ticket;
    return due_ns > model->now_ns ? due_ns - model->now_ns : 0;
}

static uint64_t model_remove(struct model *model, size_t index)
{
    uint64_t item = model->items[index];
    model->len--;
    memmove(&model->items[index], &model->items[index + 1], (model->len - index) * sizeof item);
    memmove(&model->tickets[index], &model->tickets[index + 1], (model->len - index) * sizeof item);
    return item;
}

static bool model_pop(struct model *model, uint64_t *item)
{
    if (model->len == 0 || model->now_ns < ceil_ns(model, model->slot)) {
        return false;
    }
    model_slot_now_if(model, model->now_ns >= ceil_ns(model, model->slot + model->period_ns));
    model->slot += model->period_ns;
    *item = model_remove(model, 0);
    return true;
}

static uint64_t model_now(void *context)
{
    return ((struct model *)context)->now_ns;
}

static void step_push(mete_queue *queue, struct model *model, uint64_t number)
{
    uint64_t ticket = 0, wait_ns = 0;
    mete_status status = mete_queue_push(queue, item_of(number), &ticket, &wait_ns);
    if (model->len == model->capacity) {
        assert_int_equal(status, METE_EFULL);
        return;
    }
    assert_int_equal(status, METE_OK);
    for (size_t i = 0; i < model->len; i++) {
        assert_int_not_equal(ticket, model->tickets[i]);
    }
    assert_int_equal(wait_ns, model_push(model, number, ticket));
}

static void step_pop(mete_queue *queue, struct model *model)
{
    void *item = NULL;
    uint64_t expected = 0;
    mete_status status = mete_queue_pop(queue, 0, &item);
    assert_int_equal(status, model_pop(model, &expected) ? METE_OK : METE_ETIMEDOUT);
    assert_ptr_equal(item, item_of(expected));
}

static void step_cancel(mete_queue *queue, struct model *model, uint64_t choice)
{
    if (model->len == 0) {
        return;
    }
    size_t index = choice % model->len;
    uint64_t ticket = model->tickets[index];
    void *item = NULL;
    assert_int_equal(mete_queue_cancel(queue, ticket, &item), METE_OK);
    assert_ptr_equal(item, item_of(model_remove(model, index)));
    assert_int_equal(mete_queue_cancel(queue, ticket, &item), METE_EINVAL);
}

/* Mostly to the next slot, one nanosecond around it, or part of an interval. */
static void step_time(struct model *model, uint64_t choice, uint64_t amount)
{
    uint64_t interval_ns = model->period_ns / model->count + 1;
    uint64_t due_ns = ceil_ns(model, model->slot) + (model->slot == 0); /* not 0: 1 is taken from it */
    switch (choice % 4) {
    case 0:
        model->now_ns += amount % interval_ns;
        break;
    case 1:
        model->now_ns += amount % (4 * interval_ns);
        break;
    default:
        due_ns += amount % 3 - 1 + (choice % 4 == 3 ? interval_ns - 1 : 0);
        model->now_ns = due_ns > model->now_ns ? due_ns : model->now_ns;
        break;
    }
}

static void run_history(uint64_t seed)
{
    uint64_t random = seed;
    struct model model = {.now_ns = random_next(&random) % SEC + 1, .capacity = random_next(&random) % MODEL_MAX + 1};
    model.count = random_next(&random) % 20 + 1;
    model.period_ns = model.count + random_next(&random) % (random_next(&random) % 2 == 0 ? 50 : SEC);
    struct mete_clock clock = {model_now, &model};
    struct mete_queue_options options = METE_QUEUE_OPTIONS_INIT;
    mete_queue *queue = NULL;
    options.count = model.count;
    options.period_ns = model.period_ns;
    options.capacity = model.capacity;
    options.clock = &clock;
    assert_int_equal(mete_queue_create(&options, &queue), METE_OK);
    for (uint64_t step = 1; step <= 200; step++) {
        uint64_t choice = random_next(&random);
        switch (choice % 8) {
        case 0:
        case 1:
        case 2:
            step_push(queue, &model, step);
            break;
        case 3:
            step_cancel(queue, &model, choice / 8);
            break;
        case 4:
            step_time(&model, choice / 8, random_next(&random));
            break;
        default:
            step_pop(queue, &model);
            step_time(&model, choice / 8, random_next(&random));
            break;
        }
        assert_int_equal(mete_queue_len(queue), model.len);
    }
    mete_queue_destroy(queue);
}

static void agrees_with_the_model(void **state)
{
    (void)state;
    uint64_t histories = 20000 * setting("METE_TEST_SCALE", 1);
    uint64_t seed = setting("METE_TEST_SEED", real_ns());
    print_message("METE_TEST_SEED=%llu repeats these %llu histories\n", (unsigned long long)seed,
                  (unsigned long long)histories);
    for (uint64_t i = 0; i < histories; i++) {
        run_history(seed + i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
