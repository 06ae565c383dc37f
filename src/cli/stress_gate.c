/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "cli/stress_gate.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* About as long as a line takes to come from another processor a few times. */
#define SPINS_BEFORE_YIELD 64u
#define ASKS_BETWEEN_LOOKS 256u

static uint64_t ask_until_denied(const struct mete__stress_gate *gate, uint64_t round, mete_limiter *limiter)
{
    unsigned char key[METE__STRESS_KEY_SIZE];
    uint64_t admitted = 0;
    mete__stress_key(round, key);
    while (mete_allow(limiter, key, sizeof(key))) {
        admitted++;
        if (admitted % ASKS_BETWEEN_LOOKS == 0 &&
            atomic_load_explicit(&gate->abandoned, memory_order_relaxed) == round) {
            break;
        }
    }
    return admitted;
}

void mete__stress_call(struct mete__stress_gate *gate, size_t caller, mete_limiter *limiter)
{
    struct mete__stress_tally *tally = &gate->tallies[caller];
    uint64_t seen = 0;
    for (;;) {
        unsigned turns = 0;
        atomic_fetch_add_explicit(&gate->arrived, 1, memory_order_release);
        uint64_t round = seen;
        while ((round = atomic_load_explicit(&gate->round, memory_order_acquire)) == seen) {
            mete__stress_pause(&turns);
        }
        if (atomic_load_explicit(&gate->stop, memory_order_relaxed)) {
            return;
        }
        seen = round;
        uint64_t admitted = ask_until_denied(gate, round, limiter);
        tally->admitted = admitted;
        tally->decisions = admitted + 1;
    }
}

void mete__stress_key(uint64_t round, unsigned char key[METE__STRESS_KEY_SIZE])
{
    uint64_t halves[2] = {round, ~round};
    memcpy(key, halves, sizeof(halves));
}

void mete__stress_pause(unsigned *turns)
{
    if (*turns < SPINS_BEFORE_YIELD) {
        (*turns)++;
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
    } else {
        sched_yield();
    }
}

void mete__stress_fail(struct mete__stress_gate *gate, const char *why)
{
    /* Two that fail at once may mix their sentences; both are then about the same store. */
    if (!atomic_load_explicit(&gate->failed, memory_order_acquire)) {
        snprintf(gate->why, sizeof(gate->why), "%s", why);
        atomic_store_explicit(&gate->failed, true, memory_order_release);
    }
}

struct mete__stress_gate *mete__stress_gate_create(void)
{
    /* Fresh pages are zero, which is the gate before anybody came. */
    void *memory =
        mmap(NULL, sizeof(struct mete__stress_gate), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

void mete__stress_gate_destroy(struct mete__stress_gate *gate)
{
    if (gate != NULL) {
        munmap(gate, sizeof(*gate));
    }
}
