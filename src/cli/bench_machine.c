/* SPDX-License-Identifier: Apache-2.0 */
/* The machine under `mete bench`: its name, its clock, its processors. */
#define _GNU_SOURCE /* CPU_SET, sched_setaffinity */
#include "cli/bench.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define NS_PER_S UINT64_C(1000000000)

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t mete__bench_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t mete__bench_cpu_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

void mete__bench_pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    (void)sched_setaffinity(0, sizeof(set), &set);
}

void mete__bench_fail(struct mete__bench *bench, const char *why)
{
    if (bench->report->failure == NULL) {
        bench->report->failure = why;
    }
}

/* The finalizer of splitmix64: a bijection, so different numbers stay different. */
static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

void mete__bench_key(uint64_t i, unsigned char key[METE__BENCH_KEY_SIZE])
{
    uint64_t halves[2] = {mix(i), mix(~i)};
    memcpy(key, halves, sizeof(halves));
}

/* Copies what follows "NAME:" or "NAME" in a file of /proc; "" when absent. */
static void read_field(const char *path, const char *name, char *value, size_t value_size)
{
    char line[512];
    FILE *file = fopen(path, "re");
    value[0] = '\0';
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0) {
            const char *start = line + strlen(name);
            start += strspn(start, " \t:");
            snprintf(value, value_size, "%.*s", (int)strcspn(start, "\n"), start);
            break;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

static void find_cpus(struct mete__bench *bench)
{
    cpu_set_t allowed;
    bench->cpu_count = 0;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
        CPU_ZERO(&allowed);
        CPU_SET(0, &allowed);
    }
    for (int cpu = 0; cpu < CPU_SETSIZE && bench->cpu_count < 2; cpu++) {
        if (CPU_ISSET((size_t)cpu, &allowed)) {
            bench->cpus[bench->cpu_count++] = cpu;
        }
    }
}

void mete__bench_describe(struct mete__bench *bench)
{
    struct mete__bench_report *report = bench->report;
    char model[96];
    char huge[64];
    struct utsname system;
    find_cpus(bench);
    read_field("/proc/cpuinfo", "model name", model, sizeof(model));
    read_field("/sys/kernel/mm/transparent_hugepage/enabled", "", huge, sizeof(huge));
    uname(&system);
    double gib = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / (1024.0 * 1024.0 * 1024.0);
    snprintf(report->machine, sizeof(report->machine), "%s, %ld CPUs, %.0f GiB, %s %s, huge pages %s",
             model[0] != '\0' ? model : system.machine, sysconf(_SC_NPROCESSORS_ONLN), gib, system.sysname,
             system.release, huge);
    snprintf(report->clock, sizeof(report->clock), "%s",
             mete__tsc_is_trusted() ? "the processor's counter (TSC), as the kernel trusts it"
                                    : "clock_gettime(CLOCK_MONOTONIC)");
}
