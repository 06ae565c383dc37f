/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every interleaving of a few small programs, on one thread.
 *
 * Each program is a coroutine.  The library is compiled with METE_INTERLEAVE: it
 * calls mete__interleave(address) before each access to shared memory.  A step is
 * one such access and what follows it up to the next; between two steps the
 * scheduler chooses who goes on.  The first step of a program is its start.
 *
 * schedule_all runs the programs again and again, each time by another schedule,
 * until none is left that could end differently.  Two schedules are the same when
 * one becomes the other by exchanging neighbouring steps that do not touch the
 * same 16 bytes, or that both left them as they were.  Whether a step changed
 * them is seen by comparing before and after; so a swap that failed is a read.
 * The search is source-DPOR with sleep sets (Abdulla, Aronis, Jonsson, Sagonas:
 * "Optimal dynamic partial order reduction", POPL 2014, algorithm 1), without
 * stored states: each schedule is run from the start.
 *
 * What it does not show: effects of weak memory.  Steps are in one total order.
 *
 * A program takes at most steps_max steps; then it is not run on, as if its
 * thread had been killed.  That makes loops finite, and it is the kill test.
 *
 * mete__pause is no step: the library gives up on a rival after one pause here
 * (PATIENCE), so nothing waits for ever, and a pause that lets nobody run must
 * be allowed for as well.
 */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCHEDULE_PROGRAMS_MAX 3u
#define SCHEDULE_STEPS_MAX 512u /* of all programs together */

struct schedule_plan {
    const char *name;
    void *context;
    unsigned programs;
    void (*run)(void *context, unsigned program);
    /* Before each schedule: everything as at the start. */
    void (*begin)(void *context);
    /* After each schedule: NULL, or what is wrong.  Bit i of finished: program i came to its end. */
    const char *(*end)(void *context, unsigned finished);
    unsigned steps_max[SCHEDULE_PROGRAMS_MAX]; /* 0: 100 */
};

struct schedule_count {
    uint64_t schedules;                       /* run to the end and judged */
    uint64_t cut;                             /* of these, with a program that reached steps_max */
    uint64_t blocked;                         /* given up on the way: the same as one that was run */
    unsigned steps_most;                      /* in one schedule */
    unsigned steps_of[SCHEDULE_PROGRAMS_MAX]; /* the most that one program took */
};

/* Runs all; prints the numbers.  Fails the cmocka test, with the schedule, when end() finds a fault. */
struct schedule_count schedule_all(const struct schedule_plan *plan);

/*
 * For programs with too many schedules: those in which a program that could have
 * gone on is left at most preemptions_max times.  All of these, but that
 * switches before a step on memory that no schedule changes are left out.
 */
struct schedule_count schedule_bounded(const struct schedule_plan *plan, unsigned preemptions_max);

/* Runs `schedules` drawn by seed instead. */
struct schedule_count schedule_random(const struct schedule_plan *plan, uint64_t seed, uint64_t schedules);

/* Runs one: the programs named in order, one letter ('A' is program 0) a step; then the rest in turn. */
struct schedule_count schedule_one(const struct schedule_plan *plan, const char *order);

/* Accesses to this memory are no steps: counters that are added to and not read. */
void schedule_ignore(const void *at, size_t bytes);

/* How this memory is called when a schedule is printed. */
void schedule_name(const char *name, const void *at, size_t bytes);

/* Forgets what was ignored and named. */
void schedule_forget(void);

/* The number of steps taken so far in this schedule. */
unsigned schedule_now(void);

/* METE_TEST_SCALE, a whole number; 1 when it is not set. */
uint64_t schedule_scale(void);

#endif
