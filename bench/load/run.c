/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* CLOCK_THREAD_CPUTIME_ID */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "bench/load/load.h"
#include "bench/load/ring.h"
#include "bench/load/socket.h"

#define EVENTS_MAX 256
#define INPUT_SIZE ((size_t)256 * 1024) /* more than the replies to one pipeline that a socket holds */
#define IDLE_WAIT_MS 50                 /* of the closed loop: how late the end is seen when nothing comes */
#define DRAIN_NS UINT64_C(2000000000)   /* how long replies are waited for after the end */
#define SECOND_NS 1e9

/* A group of requests that were due at one time. */
struct flight {
    uint64_t due_ns;
    const char *unsent;
    size_t unsent_len;
    uint64_t unanswered;
};

/* Flights are a ring of LOAD_FLIGHTS_MAX: [answered, sent) are sent whole, [sent, issued) not yet. */
struct conn {
    int fd;
    struct flight *flights;
    uint64_t answered, sent, issued; /* counts since the start */
    struct load_scan scan;
};

struct run {
    const struct load_options *options;
    struct load_result *result;
    struct load_ring ring;
    struct conn *conns;
    unsigned conn_count;
    int epoll;
    char *input;
    uint64_t from_ns, until_ns; /* what is counted */
    uint64_t cpu_from_ns;
    uint64_t issued; /* requests */
    /* open loop */
    double due_ns; /* of the next group, since from_ns - warmup; a double, so that fractions add up */
    uint64_t zero_ns;
    uint64_t random;
    unsigned turn;
    char *why;
    size_t why_size;
};

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static bool fail(struct run *run, const char *what)
{
    snprintf(run->why, run->why_size, "%s", what);
    return false;
}

static bool is_open_loop(const struct run *run)
{
    return run->options->rate > 0;
}

/* Sends what the connection takes. */
static bool conn_send(struct run *run, struct conn *conn)
{
    while (conn->sent < conn->issued) {
        struct flight *flight = &conn->flights[conn->sent % LOAD_FLIGHTS_MAX];
        ssize_t n = send(conn->fd, flight->unsent, flight->unsent_len, MSG_NOSIGNAL);
        if (n < 0) {
            return errno == EAGAIN || errno == EINTR || fail(run, strerror(errno));
        }
        flight->unsent += n;
        flight->unsent_len -= (size_t)n;
        if (flight->unsent_len > 0) {
            return true;
        }
        conn->sent++;
    }
    return true;
}

static bool conn_is_full(const struct conn *conn)
{
    return conn->issued - conn->answered == LOAD_FLIGHTS_MAX;
}

static bool conn_issue(struct run *run, struct conn *conn, uint64_t due_ns)
{
    size_t n = run->options->pipeline;
    if (run->options->requests > 0 && run->options->requests - run->issued < n) {
        n = run->options->requests - run->issued;
        if (n == 0) {
            return true;
        }
    }
    conn->flights[conn->issued % LOAD_FLIGHTS_MAX] = (struct flight){
        .due_ns = due_ns,
        .unsent = load_ring_take(&run->ring, n),
        .unsent_len = n * run->ring.request_len,
        .unanswered = n,
    };
    conn->issued++;
    run->issued += n;
    return conn_send(run, conn);
}

/* In a closed loop a reply counts when it comes, in an open loop when its request was due. */
static void record(struct run *run, uint64_t due_ns, uint64_t now_ns, uint64_t replies)
{
    uint64_t moment_ns = is_open_loop(run) ? due_ns : now_ns;
    if (moment_ns >= run->from_ns && moment_ns < run->until_ns) {
        load_histogram_add(&run->result->latency_ns, now_ns > due_ns ? now_ns - due_ns : 0, replies);
    }
}

static bool conn_answered(struct run *run, struct conn *conn, uint64_t replies, uint64_t now_ns)
{
    while (replies > 0) {
        struct flight *flight = &conn->flights[conn->answered % LOAD_FLIGHTS_MAX];
        if (conn->answered == conn->sent) {
            return fail(run, "the server sends more replies than there were requests");
        }
        uint64_t n = replies < flight->unanswered ? replies : flight->unanswered;
        record(run, flight->due_ns, now_ns, n);
        flight->unanswered -= n;
        replies -= n;
        if (flight->unanswered == 0) {
            conn->answered++;
        }
    }
    return true;
}

static void add_kinds(struct load_counts *to, const struct load_counts *from)
{
    for (unsigned kind = 0; kind < LOAD_KINDS; kind++) {
        to->kinds[kind] += from->kinds[kind];
    }
}

/* Replies are taken before anything new is sent; kinds are counted from the first reply on. */
static bool conn_receive(struct run *run, struct conn *conn)
{
    for (;;) {
        ssize_t n = recv(conn->fd, run->input, INPUT_SIZE, 0);
        if (n < 0) {
            return errno == EAGAIN || errno == EINTR || fail(run, strerror(errno));
        }
        if (n == 0) {
            return fail(run, "the server closed a connection");
        }
        struct load_counts counts = {0};
        if (!load_scan_feed(&conn->scan, run->input, (size_t)n, &counts)) {
            return fail(run, "what the server sends is no reply, or one without a length");
        }
        add_kinds(&run->result->counts, &counts);
        if (!conn_answered(run, conn, counts.replies, clock_ns(CLOCK_MONOTONIC))) {
            return false;
        }
        if ((size_t)n < INPUT_SIZE) {
            return true;
        }
    }
}

/* The closed loop's next group, when all of the last is answered. */
static bool conn_go_on(struct run *run, struct conn *conn)
{
    uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
    if (conn->answered < conn->issued || now_ns >= run->until_ns) {
        return true;
    }
    return conn_issue(run, conn, now_ns);
}

static double next_gap_ns(struct run *run)
{
    double mean_ns = SECOND_NS * run->options->pipeline / run->options->rate;
    if (run->options->is_fixed) {
        return mean_ns;
    }
    double uniform = (double)(load_random(&run->random) >> 11) * 0x1p-53; /* 53 bits fill a double; below 1 */
    return -log1p(-uniform) * mean_ns;
}

/* A connection with room, the next by turns first; NULL when all are full. */
static struct conn *find_room(struct run *run)
{
    for (unsigned i = 0; i < run->conn_count; i++) {
        struct conn *conn = &run->conns[run->turn];
        run->turn = run->turn + 1 == run->conn_count ? 0 : run->turn + 1;
        if (!conn_is_full(conn)) {
            return conn;
        }
    }
    return NULL;
}

/* The open loop: all groups that are due by now. */
static bool issue_due(struct run *run, uint64_t now_ns)
{
    for (;;) {
        uint64_t due_ns = run->zero_ns + (uint64_t)run->due_ns;
        struct conn *conn = due_ns <= now_ns && due_ns < run->until_ns ? find_room(run) : NULL;
        if (conn == NULL) {
            return true;
        }
        run->due_ns += next_gap_ns(run);
        if (!conn_issue(run, conn, due_ns)) {
            return false;
        }
    }
}

static bool handle(struct run *run, const struct epoll_event *event)
{
    struct conn *conn = event->data.ptr;
    if ((event->events & ~(uint32_t)EPOLLOUT) != 0 && !conn_receive(run, conn)) {
        return false;
    }
    if (conn->sent < conn->issued && !conn_send(run, conn)) {
        return false;
    }
    return is_open_loop(run) || conn_go_on(run, conn);
}

static bool is_all_answered(const struct run *run)
{
    for (unsigned i = 0; i < run->conn_count; i++) {
        if (run->conns[i].answered < run->conns[i].issued) {
            return false;
        }
    }
    return true;
}

/* A closed loop ends at its time, or when its number of requests is answered; an open loop
 * when everything that was due is answered, or after a last wait. */
static bool is_over(const struct run *run, uint64_t now_ns)
{
    const struct load_options *options = run->options;
    if (options->requests > 0) {
        return run->issued == options->requests && is_all_answered(run);
    }
    if (!is_open_loop(run) || now_ns < run->until_ns) {
        return now_ns >= run->until_ns;
    }
    bool is_all_issued = run->zero_ns + (uint64_t)run->due_ns >= run->until_ns;
    return (is_all_issued && is_all_answered(run)) || now_ns >= run->until_ns + DRAIN_NS;
}

static void cpu_mark(struct run *run, uint64_t now_ns)
{
    if (run->cpu_from_ns == 0 && now_ns >= run->from_ns) {
        run->cpu_from_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    }
}

static bool loop(struct run *run)
{
    struct epoll_event events[EVENTS_MAX];
    for (;;) {
        uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
        cpu_mark(run, now_ns);
        if (is_over(run, now_ns)) {
            run->result->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - run->cpu_from_ns;
            return true;
        }
        if (is_open_loop(run) && !issue_due(run, now_ns)) {
            return false;
        }
        /* An open loop does not sleep: a timer's delay would count as the server's. */
        int n = epoll_wait(run->epoll, events, EVENTS_MAX, is_open_loop(run) ? 0 : IDLE_WAIT_MS);
        for (int i = 0; i < n; i++) {
            if (!handle(run, &events[i])) {
                return false;
            }
        }
    }
}

static bool open_conn(struct run *run, struct conn *conn)
{
    conn->scan.protocol = run->options->protocol;
    conn->flights = calloc(LOAD_FLIGHTS_MAX, sizeof(*conn->flights));
    if (conn->flights == NULL) {
        return fail(run, "no memory for connections");
    }
    conn->fd = load_connect(run->options->address, run->why, run->why_size);
    if (conn->fd < 0) {
        return false;
    }
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = conn};
    return epoll_ctl(run->epoll, EPOLL_CTL_ADD, conn->fd, &event) == 0 || fail(run, strerror(errno));
}

static bool open_all(struct run *run)
{
    const struct load_options *options = run->options;
    run->epoll = epoll_create1(EPOLL_CLOEXEC);
    run->input = malloc(INPUT_SIZE);
    run->conns = calloc(options->connections, sizeof(*run->conns));
    if (run->epoll < 0 || run->input == NULL || run->conns == NULL) {
        return fail(run, "no memory for connections");
    }
    for (unsigned i = 0; i < options->connections; i++) {
        run->conns[i].fd = -1;
        run->conn_count = i + 1;
        if (!open_conn(run, &run->conns[i])) {
            return false;
        }
    }
    return load_ring_init(&run->ring, options->protocol, options->template, options->keys, options->pipeline,
                          options->seed, run->why, run->why_size);
}

static bool start(struct run *run)
{
    const struct load_options *options = run->options;
    run->zero_ns = clock_ns(CLOCK_MONOTONIC);
    run->from_ns = run->zero_ns + (options->requests > 0 ? 0 : options->warmup_ns);
    run->until_ns = options->requests > 0 ? UINT64_MAX : run->from_ns + options->duration_ns;
    run->random = options->seed;
    for (unsigned i = 0; !is_open_loop(run) && i < run->conn_count; i++) {
        if (!conn_issue(run, &run->conns[i], clock_ns(CLOCK_MONOTONIC))) {
            return false;
        }
    }
    return true;
}

/* What was due in time and has no reply. */
static uint64_t count_lost(const struct run *run)
{
    uint64_t lost = 0;
    for (unsigned i = 0; is_open_loop(run) && i < run->conn_count; i++) {
        const struct conn *conn = &run->conns[i];
        for (uint64_t f = conn->answered; f < conn->issued; f++) {
            lost += conn->flights[f % LOAD_FLIGHTS_MAX].unanswered;
        }
    }
    double unissued_ns = (double)(run->until_ns - run->zero_ns) - run->due_ns;
    if (is_open_loop(run) && unissued_ns > 0) {
        lost += (uint64_t)(unissued_ns / SECOND_NS * run->options->rate);
    }
    return lost;
}

static void close_all(struct run *run)
{
    for (unsigned i = 0; i < run->conn_count; i++) {
        free(run->conns[i].flights);
        if (run->conns[i].fd >= 0) {
            close(run->conns[i].fd);
        }
    }
    free(run->conns);
    free(run->input);
    load_ring_clear(&run->ring);
    if (run->epoll >= 0) {
        close(run->epoll);
    }
}

bool load_run(const struct load_options *options, struct load_result *result, char *why, size_t why_size)
{
    struct run run = {.options = options, .result = result, .epoll = -1, .why = why, .why_size = why_size};
    memset(result, 0, sizeof(*result));
    bool is_done = open_all(&run) && start(&run) && loop(&run);
    if (is_done) {
        uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
        result->elapsed_ns = (options->requests > 0 ? now_ns : run.until_ns) - run.from_ns;
        result->counts.replies = result->latency_ns.count;
        result->lost = count_lost(&run);
    }
    close_all(&run);
    return is_done;
}
