/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target without a fuzzer: over each file of a corpus folder, and
 * over mutations of it that are the same in every run.
 *
 *   X_fuzz CORPUS          the whole folder; METE_TEST_SCALE multiplies the mutations
 *   X_fuzz CORPUS FILE N   only mutation N of FILE (0: the file itself), to repeat a crash
 *
 * This keeps the targets and their corpora honest in every build.  It does not
 * search: the fuzz preset does that.
 */
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INPUT_BYTES_MAX 65536u
#define FILES_MAX 4096u
/* All files share these: a run takes a second or two however large the corpus. */
#define MUTATIONS_PER_RUN 100000u

struct input {
    char *name;
    uint8_t *bytes;
    size_t len;
};

struct corpus {
    struct input files[FILES_MAX];
    size_t count;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What runs now, ready to be written by a signal handler. */
static char running[512];

static void run_mutation(const struct corpus *corpus, size_t index, uint64_t number);
static bool corpus_load(struct corpus *corpus, const char *folder);
static void tell_crash(int signal_number);
static uint64_t scale(void);

int main(int argc, char **argv)
{
    static struct corpus corpus;
    if (argc != 2 && argc != 4) {
        fprintf(stderr, "usage: %s CORPUS [FILE MUTATION]\n", argv[0]);
        return 2;
    }
    if (!corpus_load(&corpus, argv[1])) {
        return 1;
    }
    signal(SIGABRT, tell_crash);
    signal(SIGSEGV, tell_crash);
    signal(SIGBUS, tell_crash);
    signal(SIGFPE, tell_crash);
    signal(SIGILL, tell_crash);

    uint64_t mutations = MUTATIONS_PER_RUN / corpus.count * scale();
    uint64_t runs = 0;
    for (size_t i = 0; i < corpus.count; i++) {
        if (argc == 4) {
            if (strcmp(corpus.files[i].name, argv[2]) == 0) {
                run_mutation(&corpus, i, strtoull(argv[3], NULL, 10));
                runs++;
            }
            continue;
        }
        for (uint64_t number = 0; number <= mutations; number++, runs++) {
            run_mutation(&corpus, i, number);
        }
    }
    printf("%zu files, %llu inputs\n", corpus.count, (unsigned long long)runs);
    return runs > 0 ? 0 : 1;
}

static void tell_crash(int signal_number)
{
    ssize_t written = write(STDERR_FILENO, running, strlen(running));
    (void)written;
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static uint64_t scale(void)
{
    const char *text = getenv("METE_TEST_SCALE");
    uint64_t value = text != NULL ? strtoull(text, NULL, 10) : 1;
    return value > 0 ? value : 1;
}

/* --- mutations ---------------------------------------------------------- */

/* splitmix64: any seed is fine, equal seeds give equal inputs. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static size_t below(uint64_t *state, size_t bound)
{
    return (size_t)(next_random(state) % bound);
}

/* Bytes that parsers treat in their own way. */
static uint8_t odd_byte(uint64_t *state)
{
    static const char odd[] = "\0\n\r\t \"'\\/-+.,:;%0123456789[]{}()<>eE\x7f\x80\xc0\xed\xfe\xff";
    return (uint8_t)odd[below(state, sizeof(odd) - 1)];
}

/* Puts len bytes at `at`; what would not fit is left out. */
static void insert(uint8_t *data, size_t *size, size_t at, const uint8_t *bytes, size_t len)
{
    if (len > INPUT_BYTES_MAX - *size) {
        len = INPUT_BYTES_MAX - *size;
    }
    memmove(data + at + len, data + at, *size - at);
    memcpy(data + at, bytes, len);
    *size += len;
}

static void cut(uint8_t *data, size_t *size, size_t at, size_t len)
{
    memmove(data + at, data + at + len, *size - at - len);
    *size -= len;
}

static void mutate_once(uint8_t *data, size_t *size, const struct input *other, uint64_t *state)
{
    size_t at = below(state, *size + 1);
    size_t left = *size - at;
    uint8_t byte = odd_byte(state);

    switch (left > 0 ? below(state, 7) : 5) {
    case 0: /* flip a bit */
        data[at] ^= (uint8_t)(1u << below(state, 8));
        break;
    case 1: /* replace a byte */
        data[at] = byte;
        break;
    case 2: /* drop some bytes */
        cut(data, size, at, 1 + below(state, left));
        break;
    case 3: /* end early */
        *size = at;
        break;
    case 4: /* say a piece twice */
        if (*size <= INPUT_BYTES_MAX / 2) {
            uint8_t piece[64];
            size_t len = 1 + below(state, left < sizeof(piece) ? left : sizeof(piece));
            memcpy(piece, data + at, len);
            insert(data, size, at, piece, len);
        }
        break;
    case 5: /* one byte more */
        insert(data, size, at, &byte, 1);
        break;
    default: /* a piece of another file */
        if (other->len > 0) {
            size_t from = below(state, other->len);
            insert(data, size, at, other->bytes + from, 1 + below(state, other->len - from));
        }
        break;
    }
}

/* Mutation `number` of a file depends on nothing but the two and the corpus. */
static void run_mutation(const struct corpus *corpus, size_t index, uint64_t number)
{
    static uint8_t data[INPUT_BYTES_MAX];
    const struct input *file = &corpus->files[index];
    size_t size = file->len;
    if (size > 0) {
        memcpy(data, file->bytes, size);
    }

    uint64_t state = number * FILES_MAX + index;
    uint64_t changes = number == 0 ? 0 : 1 + below(&state, 8);
    for (; changes > 0; changes--) {
        mutate_once(data, &size, &corpus->files[below(&state, corpus->count)], &state);
    }

    /* An allocation of just this size, so that a sanitizer sees a byte read past its end. */
    uint8_t *exact = malloc(size > 0 ? size : 1);
    if (exact == NULL) {
        perror("malloc");
        exit(1);
    }
    memcpy(exact, data, size);
    snprintf(running, sizeof(running), "crashed: file %s mutation %llu\n", file->name, (unsigned long long)number);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

/* --- corpus ------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct input *)a)->name, ((const struct input *)b)->name);
}

/* Reads one file, at most INPUT_BYTES_MAX bytes of it. */
static bool input_load(struct input *input, const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    input->name = strdup(name);
    input->bytes = malloc(INPUT_BYTES_MAX);
    if (file == NULL || input->name == NULL || input->bytes == NULL) {
        perror(path);
        if (file != NULL) {
            fclose(file);
        }
        return false;
    }
    input->len = fread(input->bytes, 1, INPUT_BYTES_MAX, file);
    bool ok = ferror(file) == 0;
    fclose(file);
    return ok;
}

/* Reads all files of folder, in the order of their names.  An empty folder is
 * an error: a target without inputs would test nothing. */
static bool corpus_load(struct corpus *corpus, const char *folder)
{
    DIR *dir = opendir(folder);
    if (dir == NULL) {
        perror(folder);
        return false;
    }
    bool ok = true;
    for (struct dirent *entry = readdir(dir); ok && entry != NULL; entry = readdir(dir)) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        if (corpus->count == FILES_MAX) {
            fprintf(stderr, "%s: more than %u files\n", folder, FILES_MAX);
            ok = false;
            break;
        }
        ok = input_load(&corpus->files[corpus->count++], folder, entry->d_name);
    }
    closedir(dir);
    if (ok && corpus->count == 0) {
        fprintf(stderr, "%s: no files\n", folder);
        return false;
    }
    qsort(corpus->files, corpus->count, sizeof(corpus->files[0]), by_name);
    return ok;
}
