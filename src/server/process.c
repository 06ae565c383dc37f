/* SPDX-License-Identifier: Apache-2.0 */
#include "server/process.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* statm: size and resident, in pages. */
static void read_memory(struct mete__process *out)
{
    unsigned long long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL) {
        return;
    }
    if (fscanf(file, "%llu %llu", &pages, &resident) == 2) {
        uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
        out->virtual_bytes = pages * page;
        out->rss_bytes = resident * page;
    }
    fclose(file);
}

/* Linux 6.2 and later tell the number as the folder's size; before, its names are
 * counted: some ms at ten thousand connections. */
static uint64_t count_fds(void)
{
    struct stat folder;
    if (stat("/proc/self/fd", &folder) == 0 && folder.st_size > 0) {
        return (uint64_t)folder.st_size;
    }
    uint64_t count = 0;
    DIR *dir = opendir("/proc/self/fd");
    if (dir == NULL) {
        return 0;
    }
    for (struct dirent *at = readdir(dir); at != NULL; at = readdir(dir)) {
        count += at->d_name[0] != '.';
    }
    closedir(dir);
    return count - 1; /* less the one that listed them */
}

static uint64_t microseconds(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

void mete__process_read(struct mete__process *out)
{
    struct rusage usage;
    struct rlimit files;
    memset(out, 0, sizeof *out);
    read_memory(out);
    out->fds = count_fds();
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        out->fds_max = files.rlim_cur;
    }
    if (getrusage(RUSAGE_SELF, &usage) == 0) {
        out->cpu_us = microseconds(usage.ru_utime) + microseconds(usage.ru_stime);
    }
}
