/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `mete replay` over a long log: this program is run as a child on a log made
 * from a sample, and on one a tenth as long.  The first gives the speed; the
 * peak memory of both must be the same, since it may not grow with the log.
 *
 * The log repeats the sample with its times moved on by the sample's span (in
 * whole days, so that only dates change), since time in a log goes forward.
 *
 * This group must come first: the kernel counts the memory of the parent at
 * the fork to the child's peak, so the parent has to be small still.
 */
#define _GNU_SOURCE /* mkdtemp, timegm, memmem */
#include "cli/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SAMPLE_MAX ((size_t)64 << 20)
#define SECONDS_PER_DAY 86400
#define DATE_LEN 11 /* "02/Jan/2006" */
#define LIMIT_TEXT "100/1m"
#define DAYS_MAX 18000 /* so far dates may be moved on: within the times that mete takes */

extern char **environ;

struct replay {
    char folder[256];
    char long_log[288];
    char short_log[288];
    uint64_t long_bytes;
    char *sample;
    size_t sample_len;
};

struct child_use {
    double seconds;
    double peak_mib;
};

static bool read_sample(struct replay *replay, const char *path)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    replay->sample = malloc(SAMPLE_MAX);
    replay->sample_len = replay->sample != NULL ? fread(replay->sample, 1, SAMPLE_MAX, file) : 0;
    bool whole = replay->sample_len > 0 && feof(file) && !ferror(file);
    fclose(file);
    return whole && replay->sample[replay->sample_len - 1] == '\n';
}

/* The date of a common or combined log line, or NULL: what follows the first '['. */
static char *find_date(char *line, char *end, struct tm *date)
{
    char *bracket = memchr(line, '[', (size_t)(end - line));
    if (bracket == NULL || end - bracket < DATE_LEN + 2) {
        return NULL;
    }
    char text[DATE_LEN + 1];
    memcpy(text, bracket + 1, DATE_LEN);
    text[DATE_LEN] = '\0';
    memset(date, 0, sizeof(*date));
    return strptime(text, "%d/%b/%Y", date) == text + DATE_LEN ? bracket + 1 : NULL;
}

static char *line_end(char *line, char *end)
{
    char *newline = memchr(line, '\n', (size_t)(end - line));
    return newline != NULL ? newline : end;
}

/* Moves every date of the sample on by `days`, in place: a date keeps its length. */
static void move_dates(char *sample, char *end, int days)
{
    for (char *line = sample; line < end; line = line_end(line, end) + 1) {
        struct tm date;
        char *at = find_date(line, line_end(line, end), &date);
        if (at != NULL) {
            time_t moved = timegm(&date) + (time_t)days * SECONDS_PER_DAY;
            char text[32];
            gmtime_r(&moved, &date);
            if (strftime(text, sizeof(text), "%d/%b/%Y", &date) == DATE_LEN) {
                memcpy(at, text, DATE_LEN);
            }
        }
    }
}

/* The days that the sample's lines span, both ends included. */
static int days_of(char *sample, char *end)
{
    time_t first = 0;
    time_t last = 0;
    for (char *line = sample; line < end; line = line_end(line, end) + 1) {
        struct tm date;
        if (find_date(line, line_end(line, end), &date) != NULL) {
            time_t day = timegm(&date);
            first = first == 0 || day < first ? day : first;
            last = day > last ? day : last;
        }
    }
    return (int)((last - first) / SECONDS_PER_DAY) + 1;
}

static bool is_sample_long_enough(const struct replay *replay, uint64_t bytes)
{
    uint64_t days = (uint64_t)days_of(replay->sample, replay->sample + replay->sample_len);
    return bytes / replay->sample_len * days <= DAYS_MAX;
}

/* Writes whole samples until the log is as long as asked, and keeps the first
 * tenth as a log of its own. */
static bool write_logs(struct replay *replay, uint64_t bytes)
{
    FILE *long_log = fopen(replay->long_log, "we");
    FILE *short_log = fopen(replay->short_log, "we");
    char *sample_end = replay->sample + replay->sample_len;
    int days = days_of(replay->sample, sample_end);
    bool written = long_log != NULL && short_log != NULL;
    while (written && replay->long_bytes < bytes) {
        written = fwrite(replay->sample, replay->sample_len, 1, long_log) == 1;
        if (written && replay->long_bytes < bytes / 10) {
            written = fwrite(replay->sample, replay->sample_len, 1, short_log) == 1;
        }
        replay->long_bytes += replay->sample_len;
        move_dates(replay->sample, sample_end, days);
    }
    if (long_log != NULL) {
        written = fclose(long_log) == 0 && written;
    }
    if (short_log != NULL) {
        written = fclose(short_log) == 0 && written;
    }
    return written;
}

/* Runs `mete replay` on a log, its output thrown away. */
static bool run_child(const char *log, struct child_use *use)
{
    char self[] = "/proc/self/exe";
    char *arguments[] = {(char[]){"mete"},     (char[]){"replay"}, strdup(log), (char[]){"--limit"},
                         (char[]){LIMIT_TEXT}, (char[]){"--json"}, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child;
    int status = -1;
    struct rusage usage;
    uint64_t start_ns = mete__bench_now_ns();
    bool ran = arguments[2] != NULL && posix_spawn(&child, self, &actions, NULL, arguments, environ) == 0;
    while (ran && wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
    }
    uint64_t end_ns = mete__bench_now_ns();
    posix_spawn_file_actions_destroy(&actions);
    free(arguments[2]);
    if (!ran || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        return false;
    }
    use->seconds = (double)(end_ns - start_ns) * 1e-9;
    use->peak_mib = (double)usage.ru_maxrss / 1024.0;
    return true;
}

static void run_replay(struct mete__bench *bench, void *state)
{
    struct replay *replay = state;
    struct child_use long_use;
    struct child_use short_use;
    if (!run_child(replay->short_log, &short_use) || !run_child(replay->long_log, &long_use)) {
        mete__bench_fail(bench, "mete replay failed on the log made from the sample");
        return;
    }
    mete__bench_add(bench->report, "replay, long log", "MB/s", (double)replay->long_bytes * 1e-6 / long_use.seconds);
    mete__bench_add(bench->report, "replay, peak memory, long log", "MiB", long_use.peak_mib);
    mete__bench_add(bench->report, "replay, peak memory, a tenth of it", "MiB", short_use.peak_mib);
}

static void require_replay(struct mete__bench *bench)
{
    static const struct mete__bench_check checks[] = {
        {"replay of a combined log (MB/s)", "replay, long log", NULL, METE__BENCH_VALUE, METE__BENCH_AT_LEAST, 400},
        {"replay, peak memory, long log / a tenth of it", "replay, peak memory, long log",
         "replay, peak memory, a tenth of it", METE__BENCH_RATIO, METE__BENCH_AT_MOST, 1.1},
    };
    mete__bench_require(bench->report, &checks[0]);
    mete__bench_require(bench->report, &checks[1]);
}

static void free_replay(void *state)
{
    struct replay *replay = state;
    if (replay == NULL) {
        return;
    }
    if (replay->folder[0] != '\0') {
        unlink(replay->long_log);
        unlink(replay->short_log);
        rmdir(replay->folder);
    }
    free(replay->sample);
    free(replay);
}

static void *make_replay(struct mete__bench *bench)
{
    const char *parent = getenv("TMPDIR");
    struct replay *replay = calloc(1, sizeof(*replay));
    if (replay == NULL || !read_sample(replay, bench->replay_sample)) {
        mete__bench_fail(bench, "the sample log cannot be read, is empty, above 64 MiB, or its last line is not whole");
        free_replay(replay);
        return NULL;
    }
    if (!is_sample_long_enough(replay, bench->replay_bytes)) {
        mete__bench_fail(bench,
                         "the sample log is too short to be repeated so often: its dates would leave this century");
        free_replay(replay);
        return NULL;
    }
    int len = snprintf(replay->folder, sizeof(replay->folder), "%s/mete-bench-XXXXXX",
                       parent != NULL && parent[0] != '\0' ? parent : "/tmp");
    if (len >= (int)sizeof(replay->folder) || mkdtemp(replay->folder) == NULL) {
        replay->folder[0] = '\0';
        mete__bench_fail(bench, "no folder for the log can be made in $TMPDIR");
        free_replay(replay);
        return NULL;
    }
    snprintf(replay->long_log, sizeof(replay->long_log), "%s/long.log", replay->folder);
    snprintf(replay->short_log, sizeof(replay->short_log), "%s/short.log", replay->folder);
    bool written = write_logs(replay, bench->replay_bytes);
    free(replay->sample);
    replay->sample = NULL;
    if (!written) {
        mete__bench_fail(bench, "the log cannot be written to $TMPDIR");
        free_replay(replay);
        return NULL;
    }
    return replay;
}

const struct mete__bench_group mete__bench_replay = {"replay", make_replay, run_replay, require_replay, free_replay};
