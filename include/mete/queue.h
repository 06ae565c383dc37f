/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The leaky bucket as a real queue: items join if there is room and leave one
 * by one at a constant rate, in the order they came.  For feeding a downstream
 * that needs a steady load.
 *
 * Pops are spaced exactly: the k-th departure of a busy queue is at
 * start + ceil(k * period / count), so nothing drifts; after the queue was
 * empty the next item leaves at once, but never sooner than one interval after
 * the one before.  A late consumer does not cause a burst: one that is late by
 * less than an interval moves no later departure; one that is a whole interval
 * late or more misses those slots, and the next is one interval after it came.
 * In any span T fewer than 2 + T * count / period items leave; at most
 * 1 + T * count / period while the consumer is on time.
 *
 * Any number of threads may push, pop and cancel at once.  Waiting is done on a
 * condition variable: this is for handing over work, not for the decision path.
 * A sleeping consumer wakes some 50 us late: above about 20,000 items per second
 * poll with timeout 0.  Waits over 584 years are METE_NEVER.
 */
#ifndef METE_QUEUE_H
#define METE_QUEUE_H

#include <mete/mete.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mete_queue mete_queue;

struct mete_queue_options {
    size_t size;                    /* sizeof(struct mete_queue_options) */
    uint64_t count;                 /* items ... */
    uint64_t period_ns;             /* ... per this many nanoseconds; 1 per 10 years .. 1e9 per second */
    size_t capacity;                /* most items waiting, 1..2^24; default 1024 */
    const struct mete_clock *clock; /* NULL: monotonic.  With a clock of the caller's, pops that wait poll it */
};

/* clang-format off */
#define METE_QUEUE_OPTIONS_INIT { sizeof(struct mete_queue_options), 1, UINT64_C(1000000000), 1024, NULL }
/* clang-format on */

/* METE_EINVAL (also NULL options), METE_ERANGE (rate, capacity), METE_ENOMEM.  All
 * memory is taken here.  The clock is copied; it is called under the queue's lock
 * and must not call the queue; timeouts count in it. */
METE_API mete_status mete_queue_create(const struct mete_queue_options *options, mete_queue **out);

/* Frees the queue.  Items still waiting are dropped; drain it first to keep
 * them.  NULL is fine.  No call may be running. */
METE_API void mete_queue_destroy(mete_queue *queue);

/*
 * Joins the queue.  METE_OK: *ticket (may be NULL) identifies the item for
 * mete_queue_cancel and *wait_ns (may be NULL) says when it will leave if
 * nobody is cancelled.  METE_EFULL: no room, nothing changed.
 * METE_EUNAVAILABLE: the queue was closed.
 */
METE_API mete_status mete_queue_push(mete_queue *queue, void *item, uint64_t *ticket, uint64_t *wait_ns);

/*
 * Takes the oldest item once its departure time has come.  Waits up to
 * timeout_ns for it (0: does not wait; METE_NEVER: as long as it takes).
 * METE_ETIMEDOUT: none was due in time.  METE_EUNAVAILABLE: closed and empty.
 */
METE_API mete_status mete_queue_pop(mete_queue *queue, uint64_t timeout_ns, void **item);

/* Takes an item out before it leaves; its slot is given to the next.
 * METE_EINVAL: it is not waiting (already popped or cancelled). */
METE_API mete_status mete_queue_cancel(mete_queue *queue, uint64_t ticket, void **item);

/* No more pushes; pops go on until it is empty, then say METE_EUNAVAILABLE. */
METE_API mete_status mete_queue_close(mete_queue *queue);

/* Items waiting now; 0 for NULL. */
METE_API size_t mete_queue_len(const mete_queue *queue);

#ifdef __cplusplus
}
#endif

#endif
