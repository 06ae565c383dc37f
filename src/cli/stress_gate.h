/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate of `mete stress`: one block of memory, shared by threads or by
 * processes, behind which all callers wait and from which they start together.
 *
 * A round: every caller arrives; the coordinator sets `arrived` back to 0 and
 * raises `round`; every caller asks for the round's key until it is denied,
 * writes its tally and arrives again.
 */
#ifndef METE_CLI_STRESS_GATE_H
#define METE_CLI_STRESS_GATE_H

#include <stdatomic.h>

#include <mete/mete.h>

#define METE__STRESS_CALLERS_MAX 1024u
#define METE__STRESS_KEY_SIZE 16u
#define METE__STRESS_WHY_SIZE 256u

/* Written by one caller between two arrivals, read by the coordinator after
 * the second; a line each, so that callers do not slow each other down. */
struct mete__stress_tally {
    _Alignas(64) uint64_t admitted;
    uint64_t decisions;
};

struct mete__stress_gate {
    /* Raised by the coordinator with release, read by callers with acquire:
     * the key and the reset counter are in place before anybody starts. */
    _Alignas(64) _Atomic uint64_t round;
    /* Raised by callers with release, read by the coordinator with acquire:
     * it sees the tallies of all who arrived. */
    _Alignas(64) _Atomic uint64_t arrived;
    /* A round that callers need not finish, because it can say nothing any more:
     * at a high rate nobody would ever be denied.  Relaxed: a hint. */
    _Alignas(64) _Atomic uint64_t abandoned;
    _Atomic bool stop;   /* set before the last raise of `round` */
    _Atomic bool failed; /* set with release by a caller that cannot work; `why` says why */
    char why[METE__STRESS_WHY_SIZE];
    struct mete__stress_tally tallies[METE__STRESS_CALLERS_MAX];
};

/* Shared with children made by fork.  NULL when there is no memory. */
struct mete__stress_gate *mete__stress_gate_create(void);
void mete__stress_gate_destroy(struct mete__stress_gate *gate);

/* The key of a round: never the same twice. */
void mete__stress_key(uint64_t round, unsigned char key[METE__STRESS_KEY_SIZE]);

/* A caller's whole life: returns when the coordinator says stop. */
void mete__stress_call(struct mete__stress_gate *gate, size_t caller, mete_limiter *limiter);

/* A caller's last words.  The first one wins. */
void mete__stress_fail(struct mete__stress_gate *gate, const char *why);

/* Lets a processor go after a short while: with more callers than processors
 * the others need it.  *turns counts up from 0. */
void mete__stress_pause(unsigned *turns);

#endif
