/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scene: two or three programs of one to three library calls each, on a small
 * store, played by all schedules.
 *
 * After each schedule memory is checked (world_check), then the probes are called
 * one after the other, and what all calls answered is judged:
 *
 *   linear     every decision, whole, is as in some order of the calls that keeps
 *              the order of each program and of calls that did not overlap.  The
 *              model is the same library, called in that order from the same start
 *   admitted   the units admitted to the key of the first call, probes included,
 *              lie within bounds; a call that was stopped may count or not
 */
#ifndef SCENE_H
#define SCENE_H

#include "interleave/schedule.h"
#include "interleave/world.h"

#define SCENE_CALLS_MAX 12u
#define SCENE_ORDERS_MAX 128u

enum scene_op {
    SCENE_TAKE,
    SCENE_PEEK,
    SCENE_RESERVE,
    SCENE_REFUND,
    SCENE_RESET,
    SCENE_TAKE_BOTH,      /* take_all over both limiters, in the order first, second ... */
    SCENE_TAKE_BOTH_BACK, /* ... and the other way round */
    SCENE_SET_LIMIT,
    SCENE_SET_CLOCK
};

struct scene_call {
    unsigned program; /* 0.. ; SCENE_PROBE: after the schedule */
    enum scene_op op;
    const char *key;
    uint64_t cost;
    uint64_t now_ns;   /* 0: METE_NOW */
    unsigned limiter;  /* index in the world */
    const char *limit; /* SCENE_SET_LIMIT */
    bool must_pass;    /* be admitted, in every schedule */
};

#define SCENE_PROBE SCHEDULE_PROGRAMS_MAX

struct scene_answer {
    struct mete_decision decisions[2];
    unsigned began;
    unsigned ended;
    bool is_done;
};

struct scene_order {
    unsigned char calls[SCENE_CALLS_MAX];
    struct scene_answer answers[SCENE_CALLS_MAX];
};

struct scene {
    const char *name;
    struct world world;
    struct scene_call calls[SCENE_CALLS_MAX]; /* a program's calls in its order */
    unsigned calls_n;
    struct scene_answer answers[SCENE_CALLS_MAX];
    bool is_linear;
    uint64_t admitted_min;
    uint64_t admitted_max;
    /* Calls that remove each other's claims could go on for ever.  A program is
     * stopped when it took so many steps more than it takes when it comes first. */
    unsigned steps_more;
    const char *(*check)(struct scene *scene, unsigned finished); /* more to check, before the probes; may be NULL */
    /* filled by scene_play */
    struct scene_order orders[SCENE_ORDERS_MAX];
    unsigned orders_n;
    unsigned programs;
};

/* Empty, over a new world with limiters of these limits (the second may be NULL). */
void scene_open(struct scene *scene, const char *name, const struct world_shape *shape, const char *limit,
                const char *limit_too);

/* A call of program A, B or C, or, with '-', a probe. */
void scene_take(struct scene *scene, char program, const char *key, uint64_t cost);
void scene_take_at(struct scene *scene, char program, const char *key, uint64_t cost, uint64_t now_ns);
void scene_add(struct scene *scene, struct scene_call call);

/* The call added last must be admitted. */
void scene_must_pass(struct scene *scene);

/* Takes now, for the start; it must be admitted. */
void scene_took(struct scene *scene, const char *key, uint64_t cost, uint64_t now_ns);

/* What is left for the key, now. */
uint64_t scene_remaining(struct scene *scene, unsigned limiter, const char *key, uint64_t now_ns);

/* All schedules, from the world as it is now.  Closes the world. */
struct schedule_count scene_play(struct scene *scene);

/* Those of at most so many preemptions, and some random ones. */
void scene_play_bounded(struct scene *scene, unsigned preemptions_max);

/* All schedules, with program `victim` stopped for good after each number of steps. */
void scene_play_killing(struct scene *scene, unsigned victim);

#endif
