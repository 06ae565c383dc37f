/* SPDX-License-Identifier: Apache-2.0 */
/* The search: which schedule comes next (schedule.h).  Switching is in coroutine.c. */
#include "interleave/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/atomic.h"
#include "interleave/coroutine.h"

#define STEPS_DEFAULT 100u
#define SET_WORDS (SCHEDULE_STEPS_MAX / 64)
#define REGIONS_MAX 24u
#define WRITTEN_MAX 256u

/* All runs on one thread, so there is nothing for the thread sanitizer to see, and
 * under it a coroutine takes half a millisecond to make: a few schedules show that
 * the tests themselves are sound. */
#if defined(__SANITIZE_THREAD__)
#define SCHEDULES_MAX 100u
#else
#define SCHEDULES_MAX UINT64_MAX
#endif

/* A set of steps of one schedule, by index. */
struct steps {
    uint64_t bits[SET_WORDS];
};

/* What a step did: the 16 bytes it touched (0: none), and whether they changed. */
struct access {
    uintptr_t group;
    bool wrote;
};

struct step {
    struct access access;
    unsigned by;
    struct steps before; /* the steps that must come before it */
};

/* A point between two steps: what was and what is to be tried there.  Bits are programs. */
struct node {
    unsigned sleep; /* would only repeat what was run elsewhere */
    unsigned todo;
    unsigned done;
    unsigned choice;
    unsigned preempted;                          /* how often someone who could have gone on was left, up to here */
    struct access access[SCHEDULE_PROGRAMS_MAX]; /* of those in sleep and done: their step here */
};

struct region {
    const char *name; /* NULL: ignored */
    uintptr_t from;
    uintptr_t to;
};

static struct region regions[REGIONS_MAX];
static unsigned regions_n;

static struct {
    const struct schedule_plan *plan;
    bool is_running;
    /* this schedule */
    struct step steps[SCHEDULE_STEPS_MAX];
    struct node nodes[SCHEDULE_STEPS_MAX];
    unsigned length;                       /* steps begun */
    unsigned known;                        /* nodes whose choice stands: the rest is new */
    uintptr_t next[SCHEDULE_PROGRAMS_MAX]; /* what each program will touch */
    unsigned taken[SCHEDULE_PROGRAMS_MAX];
    unsigned finished;
    unsigned running; /* program */
    unsigned char before[16];
    bool is_blocked;
    /* modes */
    enum { MODE_ALL, MODE_BOUNDED, MODE_RANDOM, MODE_ORDERED } mode;
    unsigned preemptions_max;
    uintptr_t written[WRITTEN_MAX]; /* what some step changed, in any schedule */
    unsigned written_n;
    bool is_sticky;
    uint64_t random;
    const char *order;
    struct schedule_count count;
} state;

/* --- sets of steps --------------------------------------------------------- */

static bool has(const struct steps *set, unsigned i)
{
    return (set->bits[i / 64] >> (i % 64)) & 1;
}

static void add(struct steps *set, unsigned i)
{
    set->bits[i / 64] |= UINT64_C(1) << (i % 64);
}

static void add_all(struct steps *set, const struct steps *other)
{
    for (unsigned i = 0; i < SET_WORDS; i++) {
        set->bits[i] |= other->bits[i];
    }
}

static bool meets(const struct steps *set, const struct steps *other)
{
    for (unsigned i = 0; i < SET_WORDS; i++) {
        if ((set->bits[i] & other->bits[i]) != 0) {
            return true;
        }
    }
    return false;
}

static bool depend(const struct access *a, const struct access *b)
{
    return a->group == b->group && a->group != 0 && (a->wrote || b->wrote);
}

/* --- races: what else must be tried, and where -------------------------------- */

/*
 * Steps i and j could also come the other way round.  To see that, from before i
 * on those steps must be run that do not need i, then j.  Any program that may
 * be the first of these will do.
 */
static void reverse(unsigned i, unsigned j)
{
    struct steps rest = {{0}};
    unsigned met = 0;
    unsigned first = 0;
    for (unsigned k = i + 1; k <= j; k++) {
        if (k != j && has(&state.steps[k].before, i)) {
            continue;
        }
        unsigned program = 1u << state.steps[k].by;
        if ((met & program) == 0 && !meets(&state.steps[k].before, &rest)) {
            first |= program;
        }
        met |= program;
        add(&rest, k);
    }
    struct node *node = &state.nodes[i];
    if ((first & (node->todo | node->done)) == 0) {
        unsigned own = 1u << state.steps[j].by;
        node->todo |= (first & own) != 0 ? own : first & -first;
    }
}

static void analyse(unsigned j)
{
    struct step *step = &state.steps[j];
    struct steps direct = {{0}};
    unsigned own = j;
    step->before = (struct steps){{0}};
    for (unsigned i = j; i-- > 0;) {
        const struct step *other = &state.steps[i];
        if (other->by == step->by ? own == j : depend(&other->access, &step->access)) {
            own = other->by == step->by ? i : own;
            add(&direct, i);
            add(&step->before, i);
            add_all(&step->before, &other->before);
        }
    }
    for (unsigned i = 0; i < j; i++) {
        bool is_race = has(&direct, i) && i != own;
        for (unsigned k = i + 1; is_race && k < j; k++) {
            is_race = !(has(&direct, k) && has(&state.steps[k].before, i));
        }
        if (is_race) {
            reverse(i, j);
        }
    }
}

/* --- one schedule -------------------------------------------------------------- */

static unsigned steps_max(unsigned program)
{
    unsigned most = state.plan->steps_max[program];
    return most != 0 ? most : STEPS_DEFAULT;
}

static unsigned enabled(void)
{
    unsigned mask = 0;
    for (unsigned i = 0; i < state.plan->programs; i++) {
        bool may_run = (state.finished >> i & 1) == 0 && state.taken[i] < steps_max(i);
        mask |= (unsigned)may_run << i;
    }
    return mask;
}

static unsigned draw(unsigned below)
{
    state.random ^= state.random << 13;
    state.random ^= state.random >> 7;
    state.random ^= state.random << 17;
    return (unsigned)((state.random >> 20) % below);
}

static unsigned choose_random(unsigned may_run)
{
    if (state.is_sticky && (may_run >> state.running & 1) != 0 && draw(8) != 0) {
        return state.running;
    }
    for (;;) {
        unsigned program = draw(state.plan->programs);
        if ((may_run >> program & 1) != 0) {
            return program;
        }
    }
}

static unsigned lowest(unsigned mask)
{
    return (unsigned)__builtin_ctz(mask);
}

static unsigned choose_ordered(unsigned may_run)
{
    while (*state.order != 0) {
        unsigned program = (unsigned)(*state.order++ - 'A');
        if (program < state.plan->programs && (may_run >> program & 1) != 0) {
            return program;
        }
    }
    return lowest(may_run);
}

/* Who of the programs at rest would only repeat something, after the last step. */
static unsigned asleep(const struct node *last, struct node *now)
{
    unsigned sleep = 0;
    for (unsigned i = 0; i < state.plan->programs; i++) {
        bool is_old = ((last->sleep | last->done) >> i & 1) != 0 && i != last->choice;
        if (is_old && !depend(&last->access[i], &last->access[last->choice])) {
            sleep |= 1u << i;
            now->access[i] = last->access[i];
        }
    }
    return sleep;
}

static bool is_written(uintptr_t group)
{
    for (unsigned i = 0; i < state.written_n; i++) {
        if (state.written[i] == group) {
            return true;
        }
    }
    return false;
}

static void note_written(uintptr_t group)
{
    if (!is_written(group)) {
        if (state.written_n == WRITTEN_MAX) {
            coroutine_fail("more than WRITTEN_MAX places are written");
        }
        state.written[state.written_n++] = group;
    }
}

/* By a bound on preemptions: all, when the last one cannot go on.  Else that one;
 * and when its next step touches what is written, the others at the price of a
 * preemption.  (Before a step that nobody can influence a switch is as one after it.) */
static unsigned may_go_on(struct node *node, unsigned may_run)
{
    bool is_begin = state.length == 0;
    node->preempted = is_begin ? 0 : node[-1].preempted;
    if (is_begin || (may_run >> state.running & 1) == 0) {
        return may_run;
    }
    bool may_leave = node->preempted < state.preemptions_max && is_written(state.next[state.running]);
    return may_leave ? may_run : 1u << state.running;
}

/* Sets the choice of a new point; false when all that could run would repeat. */
static bool choose_new(struct node *node, unsigned may_run)
{
    *node = (struct node){0};
    if (state.mode == MODE_RANDOM || state.mode == MODE_ORDERED) {
        node->choice = state.mode == MODE_RANDOM ? choose_random(may_run) : choose_ordered(may_run);
        return true;
    }
    if (state.mode == MODE_ALL && state.length > 0) {
        node->sleep = asleep(node - 1, node);
    }
    unsigned awake = may_run & ~node->sleep;
    if (awake == 0) {
        return false;
    }
    node->choice = (awake >> state.running & 1) != 0 ? state.running : lowest(awake);
    node->todo = state.mode == MODE_BOUNDED ? may_go_on(node, may_run) : 1u << node->choice;
    return true;
}

/* Chooses the next step; false when the schedule is at its end. */
static bool choose(void)
{
    unsigned may_run = enabled();
    struct node *node = &state.nodes[state.length];
    if (may_run == 0) {
        return false;
    }
    if (state.length == SCHEDULE_STEPS_MAX - 1) {
        coroutine_fail("more than SCHEDULE_STEPS_MAX steps: give smaller steps_max");
    }
    if (state.length >= state.known && !choose_new(node, may_run)) {
        state.is_blocked = true;
        return false;
    }
    if (state.mode == MODE_BOUNDED && state.length > 0 && node->choice != state.running) {
        node->preempted = node[-1].preempted + (may_run >> state.running & 1);
    }
    state.running = node->choice;
    return true;
}

/* Sanitizers know neither that 16 aligned bytes are there whole, nor that this is one thread. */
__attribute__((no_sanitize("address", "thread"))) static void copy_group(unsigned char *to, uintptr_t group)
{
    for (unsigned i = 0; i < 16; i++) {
        to[i] = ((const volatile unsigned char *)group)[i];
    }
}

static void step_begin(void)
{
    struct step *step = &state.steps[state.length];
    uintptr_t group = state.next[state.running];
    if (state.length + 1 < state.known && (step->by != state.running || step->access.group != group)) {
        coroutine_fail("the programs did not repeat themselves");
    }
    step->by = state.running;
    step->access.group = group;
    if (group != 0) {
        copy_group(state.before, group);
    }
}

static void step_end(void)
{
    struct step *step = &state.steps[state.length];
    unsigned char after[16];
    if (step->access.group != 0) {
        copy_group(after, step->access.group);
        step->access.wrote = memcmp(after, state.before, 16) != 0;
    } else {
        step->access.wrote = false;
    }
    state.nodes[state.length].access[state.running] = step->access;
    if (state.mode == MODE_ALL && state.length + 1 >= state.known) {
        analyse(state.length);
    }
    if (state.mode == MODE_BOUNDED && step->access.wrote) {
        note_written(step->access.group);
    }
    state.taken[state.running]++;
    state.length++;
}

static bool is_ignored(uintptr_t at)
{
    for (unsigned i = 0; i < regions_n; i++) {
        if (regions[i].name == NULL && at >= regions[i].from && at < regions[i].to) {
            return true;
        }
    }
    return false;
}

/* Chooses who goes on, and goes there; comes back when it is our turn again. */
static void go_on(unsigned self)
{
    if (!choose()) {
        coroutine_switch(self, COROUTINE_MAIN);
        return;
    }
    step_begin();
    if (state.running != self) {
        coroutine_switch(self, state.running);
    }
}

void mete__interleave(const void *address)
{
    if (!state.is_running || address == NULL || is_ignored((uintptr_t)address)) {
        return;
    }
    unsigned self = state.running;
    step_end();
    state.next[self] = (uintptr_t)address & ~(uintptr_t)15;
    go_on(self);
}

static void program_main(unsigned program)
{
    state.plan->run(state.plan->context, program);
    step_end();
    state.finished |= 1u << program;
    go_on(program);
}

static void run_one(void)
{
    state.plan->begin(state.plan->context);
    state.length = 0;
    state.finished = 0;
    state.running = 0;
    state.is_blocked = false;
    memset(state.next, 0, sizeof state.next);
    memset(state.taken, 0, sizeof state.taken);
    coroutines_start(state.plan->programs, program_main);
    state.is_running = true;
    go_on(COROUTINE_MAIN);
    state.is_running = false;
}

/* --- telling ------------------------------------------------------------------- */

static void print_access(const struct access *access)
{
    for (unsigned i = 0; i < regions_n; i++) {
        if (regions[i].name != NULL && access->group + 15 >= regions[i].from && access->group < regions[i].to) {
            fprintf(stderr, "%s+%ld", regions[i].name, (long)(access->group - regions[i].from));
            return;
        }
    }
    fprintf(stderr, access->group == 0 ? "start" : "elsewhere");
}

static void print_schedule(void)
{
    fprintf(stderr, "%s, by the schedule ", state.plan->name);
    for (unsigned i = 0; i < state.length; i++) {
        fputc('A' + (int)state.steps[i].by, stderr);
    }
    for (unsigned i = 0; i < state.length; i++) {
        const struct step *step = &state.steps[i];
        fprintf(stderr, "\n  %3u %c %s ", i, 'A' + (int)step->by, step->access.wrote ? "changes" : "reads  ");
        print_access(&step->access);
    }
    for (unsigned i = 0; i < state.plan->programs; i++) {
        if ((state.finished >> i & 1) == 0) {
            fprintf(stderr, "\n  %c was stopped before ", 'A' + (int)i);
            print_access(&(struct access){.group = state.next[i]});
        }
    }
    fputc('\n', stderr);
}

static void judge(void)
{
    struct schedule_count *count = &state.count;
    if (state.is_blocked) {
        count->blocked++;
        return;
    }
    count->schedules++;
    count->cut += state.finished != (1u << state.plan->programs) - 1;
    count->steps_most = state.length > count->steps_most ? state.length : count->steps_most;
    for (unsigned i = 0; i < state.plan->programs; i++) {
        count->steps_of[i] = state.taken[i] > count->steps_of[i] ? state.taken[i] : count->steps_of[i];
    }
    const char *fault = state.plan->end(state.plan->context, state.finished);
    if (fault != NULL) {
        print_schedule();
        coroutine_fail(fault);
    }
}

static void open_plan(const struct schedule_plan *plan)
{
    memset(&state, 0, sizeof state);
    state.plan = plan;
}

/* The deepest point where something is left to try; false when there is none. */
static bool next_schedule(void)
{
    if (state.count.schedules >= SCHEDULES_MAX) {
        return false;
    }
    while (state.length-- > 0) {
        struct node *node = &state.nodes[state.length];
        node->done |= 1u << node->choice;
        unsigned left = node->todo & ~node->done & ~node->sleep;
        if (left != 0) {
            node->choice = lowest(left);
            state.known = state.length + 1;
            return true;
        }
    }
    return false;
}

static void print_count(const char *how)
{
    const struct schedule_count *count = &state.count;
    if (state.plan->name != NULL) {
        printf("%s: %llu schedules (%s%s), %llu cut, %llu blocked, up to %u steps\n", state.plan->name,
               (unsigned long long)count->schedules, how, count->schedules >= SCHEDULES_MAX ? ", the first" : "",
               (unsigned long long)count->cut, (unsigned long long)count->blocked, count->steps_most);
    }
}

struct schedule_count schedule_all(const struct schedule_plan *plan)
{
    open_plan(plan);
    do {
        run_one();
        judge();
    } while (next_schedule());
    print_count("all");
    return state.count;
}

struct schedule_count schedule_bounded(const struct schedule_plan *plan, unsigned preemptions_max)
{
    char how[32];
    unsigned known;
    open_plan(plan);
    state.mode = MODE_BOUNDED;
    state.preemptions_max = preemptions_max;
    do { /* until nothing more was found to be written: then no point was missed */
        known = state.written_n;
        state.known = 0;
        state.count = (struct schedule_count){0};
        do {
            run_one();
            judge();
        } while (next_schedule());
    } while (state.written_n > known);
    snprintf(how, sizeof how, "up to %u preemptions", preemptions_max);
    print_count(how);
    return state.count;
}

struct schedule_count schedule_random(const struct schedule_plan *plan, uint64_t seed, uint64_t schedules)
{
    char how[32];
    open_plan(plan);
    state.mode = MODE_RANDOM;
    state.random = seed | 1;
    for (uint64_t i = 0; i < schedules && i < SCHEDULES_MAX; i++) {
        state.is_sticky = i % 2 != 0;
        run_one();
        judge();
    }
    snprintf(how, sizeof how, "random, seed %llu", (unsigned long long)seed);
    print_count(how);
    return state.count;
}

struct schedule_count schedule_one(const struct schedule_plan *plan, const char *order)
{
    open_plan(plan);
    state.mode = MODE_ORDERED;
    state.order = order;
    run_one();
    judge();
    return state.count;
}

/* --- small things ---------------------------------------------------------------- */

static void add_region(const char *name, const void *at, size_t bytes)
{
    if (regions_n == REGIONS_MAX) {
        coroutine_fail("more than REGIONS_MAX regions");
    }
    regions[regions_n++] = (struct region){name, (uintptr_t)at, (uintptr_t)at + bytes};
}

void schedule_ignore(const void *at, size_t bytes)
{
    add_region(NULL, at, bytes);
}

void schedule_name(const char *name, const void *at, size_t bytes)
{
    add_region(name, at, bytes);
}

void schedule_forget(void)
{
    regions_n = 0;
}

unsigned schedule_now(void)
{
    return state.length;
}

uint64_t schedule_scale(void)
{
    const char *text = getenv("METE_TEST_SCALE");
    uint64_t value = text != NULL ? strtoull(text, NULL, 10) : 0;
    return value != 0 ? value : 1;
}
