/* SPDX-License-Identifier: Apache-2.0 */
#include "interleave/scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* --- calling ------------------------------------------------------------------ */

static struct mete_request request_of(const struct scene_call *call)
{
    return (struct mete_request){.key = call->key,
                                 .key_len = call->key != NULL ? strlen(call->key) : 0,
                                 .cost = call->cost,
                                 .now_ns = call->now_ns != 0 ? call->now_ns : METE_NOW};
}

static mete_status take_both(struct world *world, const struct mete_request *request, unsigned first,
                             struct mete_decision out[2])
{
    struct mete_demand demands[2] = {{world->limiters[first], *request}, {world->limiters[1 - first], *request}};
    return mete_take_all(demands, 2, out, NULL);
}

static mete_status dispatch(struct world *world, const struct scene_call *call, struct mete_decision out[2])
{
    struct mete_request request = request_of(call);
    mete_limiter *limiter = world->limiters[call->limiter];
    struct mete_limit limit;
    switch (call->op) {
    case SCENE_TAKE:
        return mete_take(limiter, &request, out);
    case SCENE_PEEK:
        return mete_peek(limiter, &request, out);
    case SCENE_RESERVE:
        return mete_reserve(limiter, &request, out);
    case SCENE_REFUND:
        return mete_refund(limiter, &request, out);
    case SCENE_RESET:
        return mete_reset(limiter, request.key, request.key_len);
    case SCENE_TAKE_BOTH:
    case SCENE_TAKE_BOTH_BACK:
        return take_both(world, &request, call->op == SCENE_TAKE_BOTH_BACK, out);
    case SCENE_SET_LIMIT:
        limit = world_limit(call->limit);
        return mete_limiter_set_limit(limiter, &limit);
    case SCENE_SET_CLOCK:
        mete__max_u64_acq_rel(&world->now_ns, call->now_ns);
        return METE_OK;
    }
    return METE_EINVAL;
}

static void perform(struct scene *scene, unsigned i, struct scene_answer *answer)
{
    memset(answer, 0, sizeof *answer);
    answer->began = schedule_now();
    mete_status status = dispatch(&scene->world, &scene->calls[i], answer->decisions);
    answer->ended = schedule_now();
    answer->is_done = status == METE_OK;
}

static void run(void *context, unsigned program)
{
    struct scene *scene = context;
    for (unsigned i = 0; i < scene->calls_n; i++) {
        if (scene->calls[i].program == program) {
            perform(scene, i, &scene->answers[i]);
        }
    }
}

static void begin(void *context)
{
    struct scene *scene = context;
    world_restore(&scene->world);
    memset(scene->answers, 0, sizeof scene->answers);
}

/* --- the model: every order of the calls ------------------------------------------ */

static void play_in_order(struct scene *scene, struct scene_order *order, unsigned n)
{
    assert_in_range(scene->orders_n, 0, SCENE_ORDERS_MAX - 1);
    world_restore(&scene->world);
    for (unsigned k = 0; k < n; k++) {
        perform(scene, order->calls[k], &order->answers[order->calls[k]]);
    }
    for (unsigned i = 0; i < scene->calls_n; i++) {
        if (scene->calls[i].program == SCENE_PROBE) {
            perform(scene, i, &order->answers[i]);
        }
    }
    scene->orders[scene->orders_n++] = *order;
}

static void add_orders(struct scene *scene, struct scene_order *order, unsigned n, unsigned placed)
{
    bool is_whole = true;
    for (unsigned i = 0; i < scene->calls_n; i++) {
        unsigned program = scene->calls[i].program;
        bool is_next = program != SCENE_PROBE && (placed >> i & 1) == 0;
        is_whole = is_whole && !is_next;
        for (unsigned j = 0; j < i; j++) {
            is_next = is_next && (scene->calls[j].program != program || (placed >> j & 1) != 0);
        }
        if (is_next) {
            order->calls[n] = (unsigned char)i;
            add_orders(scene, order, n + 1, placed | 1u << i);
        }
    }
    if (is_whole) {
        play_in_order(scene, order, n);
    }
}

static bool is_same_answer(const struct scene_answer *a, const struct scene_answer *b)
{
    for (unsigned i = 0; i < 2; i++) {
        const struct mete_decision *x = &a->decisions[i];
        const struct mete_decision *y = &b->decisions[i];
        if (x->allowed != y->allowed || x->limit != y->limit || x->remaining != y->remaining ||
            x->wait_ns != y->wait_ns || x->retry_after_ns != y->retry_after_ns ||
            x->reset_after_ns != y->reset_after_ns) {
            return false;
        }
    }
    return a->is_done == b->is_done;
}

static bool explains(const struct scene *scene, const struct scene_order *order)
{
    unsigned n = 0;
    for (unsigned i = 0; i < scene->calls_n; i++) {
        if (!is_same_answer(&scene->answers[i], &order->answers[i])) {
            return false;
        }
        n += scene->calls[i].program != SCENE_PROBE;
    }
    for (unsigned k = 0; k < n; k++) {
        for (unsigned l = k + 1; l < n; l++) {
            if (scene->answers[order->calls[l]].ended < scene->answers[order->calls[k]].began) {
                return false;
            }
        }
    }
    return true;
}

/* --- judging ------------------------------------------------------------------------ */

static void print_answers(const struct scene *scene)
{
    static const char *const names[] = {"take",      "peek",           "reserve",   "refund",   "reset",
                                        "take both", "take both back", "set limit", "set clock"};
    for (unsigned i = 0; i < scene->calls_n; i++) {
        const struct scene_call *call = &scene->calls[i];
        const struct scene_answer *answer = &scene->answers[i];
        fprintf(stderr, "  %c %s %s", call->program == SCENE_PROBE ? '-' : 'A' + (int)call->program, names[call->op],
                call->key != NULL ? call->key : "");
        for (unsigned k = 0; k < 2 && answer->is_done; k++) {
            const struct mete_decision *out = &answer->decisions[k];
            if (out->limit != 0) {
                fprintf(stderr, ": %s, remaining %llu, retry %llu, reset %llu", out->allowed ? "allowed" : "denied",
                        (unsigned long long)out->remaining, (unsigned long long)out->retry_after_ns,
                        (unsigned long long)out->reset_after_ns);
            }
        }
        fprintf(stderr, answer->is_done ? "\n" : ": not done\n");
    }
}

struct units {
    uint64_t admitted;
    uint64_t unknown; /* of calls that were stopped */
};

static struct units count_units(const struct scene *scene)
{
    struct units units = {0, 0};
    for (unsigned i = 0; i < scene->calls_n; i++) {
        const struct scene_call *call = &scene->calls[i];
        bool is_take = call->op == SCENE_TAKE || call->op == SCENE_RESERVE;
        if (!is_take || strcmp(call->key, scene->calls[0].key) != 0) {
            continue;
        }
        if (!scene->answers[i].is_done) {
            units.unknown += call->cost;
        } else if (scene->answers[i].decisions[0].allowed) {
            units.admitted += call->cost;
        }
    }
    return units;
}

static const char *judge(struct scene *scene, bool is_over)
{
    struct units units = count_units(scene);
    if (scene->admitted_max != 0 && units.admitted > scene->admitted_max) {
        return "more admitted than the limit allows";
    }
    for (unsigned i = 0; i < scene->calls_n; i++) {
        if (scene->calls[i].must_pass && scene->answers[i].is_done && !scene->answers[i].decisions[0].allowed) {
            return "a call was denied that nothing stands in the way of";
        }
    }
    if (units.admitted + units.unknown < scene->admitted_min) {
        return "less admitted than the limit allows";
    }
    if (!is_over || !scene->is_linear) {
        return NULL;
    }
    for (unsigned i = 0; i < scene->orders_n; i++) {
        if (explains(scene, &scene->orders[i])) {
            return NULL;
        }
    }
    return "no order of the calls explains the answers";
}

static const char *end(void *context, unsigned finished)
{
    struct scene *scene = context;
    bool is_over = finished == (1u << scene->programs) - 1;
    const char *fault = world_check(&scene->world, is_over);
    if (fault == NULL && scene->check != NULL) {
        fault = scene->check(scene, finished);
    }
    for (unsigned i = 0; fault == NULL && i < scene->calls_n; i++) {
        if (scene->calls[i].program == SCENE_PROBE) {
            perform(scene, i, &scene->answers[i]);
        }
    }
    if (fault == NULL) {
        fault = world_check(&scene->world, is_over);
    }
    if (fault == NULL) {
        fault = judge(scene, is_over);
    }
    if (fault != NULL) {
        print_answers(scene);
    }
    return fault;
}

/* --- playing -------------------------------------------------------------------------- */

void scene_add(struct scene *scene, struct scene_call call)
{
    assert_in_range(scene->calls_n, 0, SCENE_CALLS_MAX - 1);
    scene->calls[scene->calls_n++] = call;
    if (call.program != SCENE_PROBE && call.program >= scene->programs) {
        scene->programs = call.program + 1;
    }
}

void scene_must_pass(struct scene *scene)
{
    scene->calls[scene->calls_n - 1].must_pass = true;
}

void scene_open(struct scene *scene, const char *name, const struct world_shape *shape, const char *limit,
                const char *limit_too)
{
    *scene = (struct scene){.name = name};
    world_open(&scene->world, shape);
    world_limiter(&scene->world, limit);
    if (limit_too != NULL) {
        world_limiter(&scene->world, limit_too);
    }
}

static unsigned program_of(char letter)
{
    return letter == '-' ? SCENE_PROBE : (unsigned)(letter - 'A');
}

void scene_take_at(struct scene *scene, char program, const char *key, uint64_t cost, uint64_t now_ns)
{
    scene_add(scene, (struct scene_call){
                         .program = program_of(program), .op = SCENE_TAKE, .key = key, .cost = cost, .now_ns = now_ns});
}

void scene_take(struct scene *scene, char program, const char *key, uint64_t cost)
{
    scene_take_at(scene, program, key, cost, 0);
}

void scene_took(struct scene *scene, const char *key, uint64_t cost, uint64_t now_ns)
{
    struct mete_decision out[2];
    struct scene_call call = {.op = SCENE_TAKE, .key = key, .cost = cost, .now_ns = now_ns};
    assert_int_equal(dispatch(&scene->world, &call, out), METE_OK);
    assert_true(out[0].allowed);
}

uint64_t scene_remaining(struct scene *scene, unsigned limiter, const char *key, uint64_t now_ns)
{
    struct mete_decision out[2];
    struct scene_call call = {.op = SCENE_PEEK, .key = key, .cost = 1, .now_ns = now_ns, .limiter = limiter};
    return dispatch(&scene->world, &call, out) == METE_OK ? out[0].remaining : UINT64_MAX;
}

static unsigned steps_alone(const struct schedule_plan *plan, unsigned program)
{
    struct schedule_plan alone = *plan;
    char order[SCHEDULE_STEPS_MAX];
    alone.name = NULL;
    memset(order, 'A' + (int)program, sizeof order - 1);
    order[sizeof order - 1] = 0;
    for (unsigned i = 0; i < plan->programs; i++) {
        alone.steps_max[i] = SCHEDULE_STEPS_MAX;
    }
    return schedule_one(&alone, order).steps_of[program];
}

static struct schedule_plan prepare(struct scene *scene)
{
    struct scene_order order = {{0}, {{{{0}}, 0, 0, false}}};
    struct schedule_plan plan = {
        .name = scene->name, .context = scene, .programs = scene->programs, .run = run, .begin = begin, .end = end};
    world_keep(&scene->world);
    add_orders(scene, &order, 0, 0); /* also lets what is made once per thread be made */
    for (unsigned i = 0; i < plan.programs; i++) {
        plan.steps_max[i] = steps_alone(&plan, i) + (scene->steps_more != 0 ? scene->steps_more : 100);
    }
    return plan;
}

struct schedule_count scene_play(struct scene *scene)
{
    struct schedule_plan plan = prepare(scene);
    struct schedule_count count = schedule_all(&plan);
    world_close(&scene->world);
    return count;
}

void scene_play_killing(struct scene *scene, unsigned victim)
{
    struct schedule_plan plan = prepare(scene);
    struct schedule_count sum = {0};
    unsigned most = plan.steps_max[victim];
    plan.name = NULL;
    for (unsigned steps = 1; steps <= most; steps++) {
        plan.steps_max[victim] = steps;
        struct schedule_count count = schedule_all(&plan);
        sum.schedules += count.schedules;
        sum.cut += count.cut;
        sum.steps_most = count.steps_most > sum.steps_most ? count.steps_most : sum.steps_most;
        if (count.cut == 0) {
            break;
        }
    }
    printf("%s: %llu schedules, %llu with a program stopped, up to %u steps\n", scene->name,
           (unsigned long long)sum.schedules, (unsigned long long)sum.cut, sum.steps_most);
    assert_in_range(sum.cut, 1, sum.schedules);
    world_close(&scene->world);
}

void scene_play_bounded(struct scene *scene, unsigned preemptions_max)
{
    struct schedule_plan plan = prepare(scene);
    schedule_bounded(&plan, preemptions_max);
    schedule_random(&plan, 1, 20000 * schedule_scale());
    world_close(&scene->world);
}
