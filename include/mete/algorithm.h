/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The algorithms alone, for callers that keep their own 64-bit word per key:
 * a field of a connection, a column of a database, a register of a switch.
 *
 * Pure: no clock, memory, lock or system call.  A word of 0 is a key never
 * seen.  The caller serialises access to a word, or publishes the new word by
 * a compare-and-swap on the old one and calls again when that fails.
 *
 * METE_SLIDING_LOG (it needs many words) and calendar windows (they need a
 * time zone) are refused with METE_ENOTSUP.
 */
#ifndef METE_ALGORITHM_H
#define METE_ALGORITHM_H

#include <mete/mete.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a limit means in machine numbers: derived once, shared by all words,
 * read-only afterwards.  Treat it as opaque; 192 bytes. */
struct mete_profile {
    uint64_t opaque[24];
};

/* METE_EINVAL, METE_ERANGE as mete_limit_check; METE_ENOTSUP as above. */
METE_API mete_status mete_profile_init(struct mete_profile *profile, const struct mete_limit *limit);

/*
 * The calls of mete.h on one word.  now_ns is the caller's time, at most
 * METE_TIME_MAX.  *word is changed only when units were taken or given back.
 * METE_EINVAL for a NULL, METE_ERANGE for a time too large.
 */
METE_API mete_status mete_word_take(const struct mete_profile *profile, uint64_t *word, uint64_t cost, uint64_t now_ns,
                                    struct mete_decision *out);
METE_API mete_status mete_word_peek(const struct mete_profile *profile, uint64_t word, uint64_t cost, uint64_t now_ns,
                                    struct mete_decision *out);
METE_API mete_status mete_word_reserve(const struct mete_profile *profile, uint64_t *word, uint64_t cost,
                                       uint64_t now_ns, uint64_t wait_ns_max, struct mete_decision *out);
METE_API mete_status mete_word_refund(const struct mete_profile *profile, uint64_t *word, uint64_t cost,
                                      uint64_t now_ns, struct mete_decision *out);

/* Carries a word from one limit to another: settled at now_ns under `from`,
 * then owed under `to`, at most its capacity. */
METE_API mete_status mete_word_convert(const struct mete_profile *from, const struct mete_profile *to, uint64_t *word,
                                       uint64_t now_ns);

/* True when the word is as if never seen at now_ns: its memory may be dropped. */
METE_API bool mete_word_is_idle(const struct mete_profile *profile, uint64_t word, uint64_t now_ns);

#ifdef __cplusplus
}
#endif

#endif
