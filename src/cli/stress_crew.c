/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/stress_crew.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"

/* Callers per process in mixed mode. */
#define THREADS_PER_PROCESS 4u

bool mete__stress_open(const struct mete__stress_target *target, struct mete__stress_opened *opened, char *why,
                       size_t why_size)
{
    *opened = (struct mete__stress_opened){NULL, NULL};
    if (mete_store_create_why(&target->options, &opened->store, why, why_size) != METE_OK) {
        return false;
    }
    if (mete_limiter_create_why(opened->store, target->limiter_name, &target->limit, &opened->limiter, why, why_size) !=
        METE_OK) {
        mete__stress_close(opened);
        return false;
    }
    return true;
}

void mete__stress_close(struct mete__stress_opened *opened)
{
    mete_limiter_destroy(opened->limiter);
    mete_store_destroy(opened->store);
    *opened = (struct mete__stress_opened){NULL, NULL};
}

static void *caller_main(void *argument)
{
    struct mete__stress_caller *caller = argument;
    mete__stress_call(caller->gate, caller->number, caller->limiter);
    return NULL;
}

/* Callers first..first+count-1 as threads of this process. */
static bool start_threads(struct mete__stress_crew *crew, size_t first, size_t count, mete_limiter *limiter)
{
    for (size_t i = 0; i < count; i++) {
        struct mete__stress_caller *caller = &crew->callers[crew->thread_count];
        *caller = (struct mete__stress_caller){.gate = crew->gate, .limiter = limiter, .number = first + i};
        if (pthread_create(&caller->thread, NULL, caller_main, caller) != 0) {
            mete__stress_fail(crew->gate, "a thread could not be made");
            return false;
        }
        crew->thread_count++;
    }
    return true;
}

static void join_threads(struct mete__stress_crew *crew)
{
    for (size_t i = 0; i < crew->thread_count; i++) {
        pthread_join(crew->callers[i].thread, NULL);
    }
    crew->thread_count = 0;
}

/* A worker process: nothing of it is left behind when the coordinator dies. */
static _Noreturn void process_main(struct mete__stress_crew *crew, pid_t parent, size_t first, size_t count,
                                   const struct mete__stress_target *target)
{
    char why[METE__STRESS_WHY_SIZE];
    struct mete__stress_opened opened;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(METE__EXIT_INPUT);
    }
    /* An interrupt ends the coordinator's rounds; it then ends this process. */
    signal(SIGINT, SIG_IGN);
    if (!mete__stress_open(target, &opened, why, sizeof(why))) {
        mete__stress_fail(crew->gate, why);
        _exit(METE__EXIT_INPUT);
    }
    if (!start_threads(crew, first, count, opened.limiter)) {
        /* The threads that were made wait at the gate; they end with the process. */
        _exit(METE__EXIT_INPUT);
    }
    join_threads(crew);
    mete__stress_close(&opened);
    _exit(METE__EXIT_OK);
}

static bool start_processes(struct mete__stress_crew *crew, size_t callers, size_t per_process,
                            const struct mete__stress_target *target)
{
    pid_t parent = getpid();
    fflush(NULL);
    for (size_t first = 0; first < callers; first += per_process) {
        size_t count = callers - first < per_process ? callers - first : per_process;
        pid_t child = fork();
        if (child < 0) {
            mete__stress_fail(crew->gate, "a process could not be made");
            return false;
        }
        if (child == 0) {
            process_main(crew, parent, first, count, target);
        }
        crew->processes[crew->process_count++] = child;
    }
    return true;
}

bool mete__stress_crew_start(struct mete__stress_crew *crew, struct mete__stress_gate *gate,
                             enum mete__stress_mode mode, size_t callers, const struct mete__stress_target *target,
                             mete_limiter *limiter)
{
    memset(crew, 0, sizeof(*crew));
    crew->gate = gate;
    if (mode == METE__STRESS_THREADS) {
        return start_threads(crew, 0, callers, limiter);
    }
    return start_processes(crew, callers, mode == METE__STRESS_MIXED ? THREADS_PER_PROCESS : 1, target);
}

bool mete__stress_crew_is_well(struct mete__stress_crew *crew)
{
    for (size_t i = 0; i < crew->process_count; i++) {
        if (crew->processes[i] != 0 && waitpid(crew->processes[i], NULL, WNOHANG) == crew->processes[i]) {
            crew->processes[i] = 0;
            mete__stress_fail(crew->gate, "a worker process ended before its time");
        }
    }
    return !atomic_load_explicit(&crew->gate->failed, memory_order_acquire);
}

void mete__stress_crew_end(struct mete__stress_crew *crew)
{
    atomic_store_explicit(&crew->gate->stop, true, memory_order_relaxed);
    atomic_fetch_add_explicit(&crew->gate->round, 1, memory_order_release);
    join_threads(crew);
    for (size_t i = 0; i < crew->process_count; i++) {
        while (crew->processes[i] != 0 && waitpid(crew->processes[i], NULL, 0) < 0 && errno == EINTR) {
        }
    }
    crew->process_count = 0;
}
