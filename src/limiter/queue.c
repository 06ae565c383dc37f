/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of queue.h: a first-in first-out list of places under one mutex.
 *
 * A mutex is right here.  The queue hands items from thread to thread at a rate
 * that is slow by purpose, its consumers sleep, and it decides nothing per
 * request; the lock is held for some tens of instructions.
 *
 * Places come from an array made at creation and are linked by index in both
 * directions, so that a cancelled one is taken out at once, wherever it is: a
 * ring would keep the gap, and be full of gaps before it is full of items.  A
 * ticket is sequence * capacity + index: it finds its place by a division, and
 * fits only the item that it was given for.
 *
 * Waiting: one consumer, the leader, sleeps until the next item is due; the
 * others sleep until they are told.  So one thread wakes per departure.
 * Invariant, whenever the mutex is free: if there are items and sleepers, one of
 * them leads or one has been signalled.
 */
#include <mete/queue.h>

#include "algorithm/profile.h"
#include "base/assert.h"
#include "base/atomic.h"
#include "base/clock.h"
#include "limiter/queue_schedule.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define CAPACITY_MAX ((size_t)1 << 24)
#define POLL_NS UINT64_C(1000000) /* how long a waiting pop leaves a caller's clock alone */

struct place {
    void *item;
    uint64_t ticket; /* 0: free */
    uint32_t next;
    uint32_t prev; /* not kept for free places */
};

struct mete_queue {
    pthread_mutex_t mutex;
    pthread_cond_t changed;  /* waits by CLOCK_MONOTONIC */
    struct mete_clock clock; /* now_ns NULL: CLOCK_MONOTONIC */
    uint64_t now_ns;         /* the latest time seen: an older one counts as this */
    struct mete__queue_schedule schedule;
    size_t capacity;
    uint64_t len;      /* written under the mutex, read without it by mete_queue_len */
    uint64_t sequence; /* of the last push, from 1 */
    uint32_t free;     /* first free place; capacity when there is none */
    bool closed;
    bool has_leader;
    size_t sleepers;       /* consumers that wait, the leader among them */
    struct place places[]; /* [capacity] is the list's end: its next is the oldest item, its prev the newest */
};

static uint64_t read_clock(mete_queue *queue)
{
    uint64_t now_ns = queue->clock.now_ns != NULL ? queue->clock.now_ns(queue->clock.context) : mete__monotonic_ns();
    queue->now_ns = mete__max_u64(queue->now_ns, mete__min_u64(now_ns, METE_TIME_MAX));
    return queue->now_ns;
}

static void set_len(mete_queue *queue, uint64_t len)
{
    mete__store_u64_relaxed(&queue->len, len); /* with mete_queue_len */
}

static struct place *place_append(mete_queue *queue)
{
    uint32_t index = queue->free;
    uint32_t end = (uint32_t)queue->capacity;
    struct place *place = &queue->places[index];
    queue->free = place->next;
    place->next = end;
    place->prev = queue->places[end].prev;
    queue->places[place->prev].next = index;
    queue->places[end].prev = index;
    /* Starts again before a ticket would not fit: with the largest capacity after 2^40 pushes. */
    queue->sequence = queue->sequence % (UINT64_MAX / queue->capacity - 1) + 1;
    place->ticket = queue->sequence * queue->capacity + index;
    set_len(queue, queue->len + 1);
    return place;
}

static void *place_remove(mete_queue *queue, uint32_t index)
{
    struct place *place = &queue->places[index];
    void *item = place->item;
    queue->places[place->prev].next = place->next;
    queue->places[place->next].prev = place->prev;
    *place = (struct place){.next = queue->free};
    queue->free = index;
    set_len(queue, queue->len - 1);
    return item;
}

/* Keeps the invariant of waiting.  To be called before the mutex is left after
 * items came or went, or the leader did. */
static void wake(mete_queue *queue)
{
    if (queue->sleepers == 0) {
        return;
    }
    if (queue->len == 0 && queue->closed) {
        pthread_cond_broadcast(&queue->changed);
    } else if (queue->len > 0 && !queue->has_leader) {
        pthread_cond_signal(&queue->changed);
    }
}

mete_status mete_queue_push(mete_queue *queue, void *item, uint64_t *ticket, uint64_t *wait_ns)
{
    if (queue == NULL) {
        return METE_EINVAL;
    }
    mete_status status = METE_OK;
    pthread_mutex_lock(&queue->mutex);
    if (queue->closed) {
        status = METE_EUNAVAILABLE;
        goto out;
    }
    if (queue->len == queue->capacity) {
        status = METE_EFULL;
        goto out;
    }
    uint64_t now_ns = read_clock(queue);
    if (queue->len == 0) {
        mete__queue_schedule_start(&queue->schedule, now_ns);
    }
    /* Slots missed up to now are dropped now, so that *wait_ns holds for a consumer that is on time from here on. */
    mete__queue_schedule_catch_up(&queue->schedule, now_ns);
    if (wait_ns != NULL) {
        uint64_t due_ns = mete__queue_schedule_due_after_ns(&queue->schedule, queue->len);
        *wait_ns = due_ns == METE_NEVER ? METE_NEVER : mete__sub_floor0_u64(due_ns, now_ns);
    }
    struct place *place = place_append(queue);
    place->item = item;
    if (ticket != NULL) {
        *ticket = place->ticket;
    }
    wake(queue);
out:
    pthread_mutex_unlock(&queue->mutex);
    return status;
}

/* METE_ETIMEDOUT: not now. */
static mete_status pop_now(mete_queue *queue, uint64_t now_ns, void **item)
{
    if (queue->len == 0) {
        return queue->closed ? METE_EUNAVAILABLE : METE_ETIMEDOUT;
    }
    if (now_ns < mete__queue_schedule_due_ns(&queue->schedule)) {
        return METE_ETIMEDOUT;
    }
    mete__queue_schedule_depart(&queue->schedule, now_ns);
    *item = place_remove(queue, queue->places[queue->capacity].next);
    return METE_OK;
}

/* Sleeps until told or, by the queue's clock, until_ns; or less, as a caller's
 * clock can only be polled. */
static void sleep_until(mete_queue *queue, uint64_t now_ns, uint64_t until_ns)
{
    if (queue->clock.now_ns != NULL) {
        until_ns = mete__monotonic_ns() + mete__min_u64(until_ns - now_ns, POLL_NS);
    }
    until_ns = mete__min_u64(until_ns, METE_TIME_MAX); /* fits a timespec everywhere */
    struct timespec until = {(time_t)(until_ns / UINT64_C(1000000000)), (long)(until_ns % UINT64_C(1000000000))};
    pthread_cond_timedwait(&queue->changed, &queue->mutex, &until);
}

static void wait_turn(mete_queue *queue, uint64_t now_ns, uint64_t deadline_ns)
{
    bool leads = queue->len > 0 && !queue->has_leader;
    uint64_t until_ns = deadline_ns;
    if (leads) {
        queue->has_leader = true;
        until_ns = mete__min_u64(deadline_ns, mete__queue_schedule_due_ns(&queue->schedule));
    }
    queue->sleepers++;
    sleep_until(queue, now_ns, until_ns);
    queue->sleepers--;
    if (leads) {
        queue->has_leader = false;
    }
}

mete_status mete_queue_pop(mete_queue *queue, uint64_t timeout_ns, void **item)
{
    if (queue == NULL || item == NULL) {
        return METE_EINVAL;
    }
    pthread_mutex_lock(&queue->mutex);
    uint64_t now_ns = read_clock(queue);
    uint64_t deadline_ns = timeout_ns < METE_NEVER - now_ns ? now_ns + timeout_ns : METE_NEVER;
    mete_status status = pop_now(queue, now_ns, item);
    while (status == METE_ETIMEDOUT && now_ns < deadline_ns) {
        wait_turn(queue, now_ns, deadline_ns);
        now_ns = read_clock(queue);
        status = pop_now(queue, now_ns, item);
    }
    wake(queue);
    pthread_mutex_unlock(&queue->mutex);
    return status;
}

mete_status mete_queue_cancel(mete_queue *queue, uint64_t ticket, void **item)
{
    if (queue == NULL || item == NULL || ticket == 0) {
        return METE_EINVAL;
    }
    mete_status status = METE_EINVAL;
    pthread_mutex_lock(&queue->mutex);
    uint32_t index = (uint32_t)(ticket % queue->capacity);
    if (queue->places[index].ticket == ticket) {
        *item = place_remove(queue, index);
        wake(queue);
        status = METE_OK;
    }
    pthread_mutex_unlock(&queue->mutex);
    return status;
}

mete_status mete_queue_close(mete_queue *queue)
{
    if (queue == NULL) {
        return METE_EINVAL;
    }
    pthread_mutex_lock(&queue->mutex);
    queue->closed = true;
    wake(queue);
    pthread_mutex_unlock(&queue->mutex);
    return METE_OK;
}

size_t mete_queue_len(const mete_queue *queue)
{
    return queue != NULL ? mete__load_u64_relaxed(&queue->len) : 0; /* with set_len */
}

static mete_status check_options(const struct mete_queue_options *options)
{
    if (options == NULL || options->size != sizeof *options ||
        (options->clock != NULL && options->clock->now_ns == NULL)) {
        return METE_EINVAL;
    }
    if (options->capacity < 1 || options->capacity > CAPACITY_MAX) {
        return METE_ERANGE;
    }
    /* The range of rates is that of limits, and is judged in one place. */
    struct mete_limit limit = {
        .algorithm = METE_LEAKY_BUCKET, .count = options->count, .period_ns = options->period_ns, .burst = 1};
    struct mete__profile profile;
    const char *why;
    return mete__profile_init(&profile, &limit, &why);
}

/* Condition variables wait by the wall clock unless told otherwise. */
static bool locks_init(mete_queue *queue)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0) {
        return false;
    }
    bool made = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                pthread_cond_init(&queue->changed, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    if (made && pthread_mutex_init(&queue->mutex, NULL) != 0) {
        pthread_cond_destroy(&queue->changed);
        made = false;
    }
    return made;
}

mete_status mete_queue_create(const struct mete_queue_options *options, mete_queue **out)
{
    mete_status status = out != NULL ? check_options(options) : METE_EINVAL;
    if (status != METE_OK) {
        return status;
    }
    mete_queue *queue = calloc(1, sizeof *queue + (options->capacity + 1) * sizeof queue->places[0]);
    if (queue == NULL) {
        return METE_ENOMEM;
    }
    if (!locks_init(queue)) {
        free(queue);
        return METE_ENOMEM;
    }
    queue->capacity = options->capacity;
    if (options->clock != NULL) {
        queue->clock = *options->clock;
    }
    mete__queue_schedule_init(&queue->schedule, options->count, options->period_ns);
    uint32_t end = (uint32_t)options->capacity;
    for (uint32_t index = 0; index < end; index++) {
        queue->places[index].next = index + 1;
    }
    queue->places[end].next = end;
    queue->places[end].prev = end;
    *out = queue;
    return METE_OK;
}

void mete_queue_destroy(mete_queue *queue)
{
    if (queue == NULL) {
        return;
    }
    METE_ASSERT(queue->sleepers == 0);
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->mutex);
    free(queue);
}
