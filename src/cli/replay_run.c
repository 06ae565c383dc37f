/* SPDX-License-Identifier: Apache-2.0 */
/* Running a replay; replay_run.h says in which order. */
#include "cli/replay_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/input_lines.h"
#include "cli/replay_progress.h"
#include "cli/replay_report.h"

struct run {
    const struct mete__replay_job *job;
    struct mete__input input;
    struct mete__lines lines;
    struct mete__reader reader;
    struct mete__decider decider;
    struct mete__report report;
    struct mete__progress progress;
    size_t file_at;      /* the file that is being read */
    uint64_t bytes_done; /* of the files before it */
    char *scratch;       /* for the reader */
    bool failed;         /* some input could not be read to its end */
};

static bool run_start(struct run *run);
static void run_clear(struct run *run);
static enum mete__exit run_file(struct run *run);
static enum mete__exit run_lines(struct run *run);
static enum mete__exit print_report(struct run *run);

enum mete__exit mete__replay_run(const struct mete__replay_job *job)
{
    static struct run run;
    run = (struct run){.job = job};
    enum mete__exit result = METE__EXIT_INPUT;
    if (run_start(&run)) {
        result = METE__EXIT_OK;
        for (; run.file_at < job->name_count && result == METE__EXIT_OK; run.file_at++) {
            result = run_file(&run);
        }
        mete__progress_end(&run.progress);
        result = result == METE__EXIT_OK ? print_report(&run) : result;
    }
    run_clear(&run);
    return result;
}

/* Looks at all files.  *total becomes their bytes, or 0 when one has no known size. */
static bool check_files(const struct mete__replay_job *job, uint64_t *total)
{
    bool known = true;
    for (size_t i = 0; i < job->name_count; i++) {
        uint64_t size = 0;
        char error[METE__INPUT_ERROR_SIZE];
        if (strcmp(job->names[i], "-") != 0 && !mete__input_check(job->names[i], &size, error)) {
            mete__cli_error(METE__REPLAY_COMMAND, "%s: %s", job->names[i], error);
            return false;
        }
        known = known && size > 0;
        *total += size;
    }
    *total = known ? *total : 0;
    return true;
}

static bool run_start(struct run *run)
{
    const struct mete__replay_job *job = run->job;
    uint64_t total = 0;
    if (!check_files(job, &total)) {
        return false;
    }
    char text[METE__REPLAY_ERROR_SIZE];
    struct mete__why why = {text, sizeof(text)};
    if (!mete__decider_init(&run->decider, job->limits, job->limit_count, job->keys_max, &why)) {
        mete__cli_error(METE__REPLAY_COMMAND, "%s", text);
        return false;
    }
    run->report = (struct mete__report){.file_count = job->name_count,
                                        .cost_name = job->wish.cost,
                                        .top = job->top,
                                        .quiet = job->quiet,
                                        .decider = &run->decider};
    run->report.files = calloc(job->name_count, sizeof(*run->report.files));
    run->scratch = malloc(METE__LINE_MAX);
    if (run->report.files == NULL || run->scratch == NULL || !mete__lines_init(&run->lines)) {
        mete__cli_error(METE__REPLAY_COMMAND, "%s", mete_status_text(METE_ENOMEM));
        return false;
    }
    for (size_t i = 0; i < job->name_count; i++) {
        run->report.files[i].name = job->names[i];
    }
    mete__progress_start(&run->progress, !job->quiet, total);
    return true;
}

static void run_clear(struct run *run)
{
    mete__decider_clear(&run->decider);
    mete__lines_clear(&run->lines);
    free(run->report.files);
    free(run->scratch);
}

static enum mete__exit print_report(struct run *run)
{
    (void)mete_store_stats(run->decider.store, &run->report.stats);
    bool printed = run->job->json ? mete__report_print_json(&run->report) : mete__report_print(&run->report);
    if (!printed) {
        mete__cli_error(METE__REPLAY_COMMAND, "%s", mete_status_text(METE_ENOMEM));
    }
    return printed && !run->failed ? METE__EXIT_OK : METE__EXIT_INPUT;
}

/* --- one file ----------------------------------------------------------- */

/* Tells what is wrong with this file; where is "" for all of it. */
static void tell_fault(struct run *run, const char *where, const char *sentence)
{
    struct mete__replay_file *file = &run->report.files[run->file_at];
    run->failed = true;
    snprintf(file->error, sizeof(file->error), "%s", sentence);
    mete__progress_end(&run->progress);
    mete__cli_error(METE__REPLAY_COMMAND, "%s: %s%s", file->name, where, sentence);
}

/* Tells what ends this file early. */
static void tell_error(struct run *run, const char *sentence)
{
    char where[48] = "";
    uint64_t lines = run->report.files[run->file_at].lines;
    if (lines > 0) {
        snprintf(where, sizeof(where), "after line %" PRIu64 ": ", lines);
    }
    tell_fault(run, where, sentence);
}

/* Tells when all lines were skipped for want of a field that an option names. */
static void look_for_absent_field(struct run *run)
{
    const char *field = NULL;
    const char *option = mete__reader_absent_option(&run->reader, &run->job->wish, &field);
    if (option != NULL) {
        char text[METE__REPLAY_ERROR_SIZE];
        snprintf(text, sizeof(text), "%s: no line has a field '%s', so all were skipped", option, field);
        tell_fault(run, "", text);
    }
}

/* Finds the format and the fields.  A wish that this file cannot fulfil ends the
 * run; a file that does not tell enough ends itself. */
static enum mete__reader_result open_reader(struct run *run)
{
    struct mete__replay_file *file = &run->report.files[run->file_at];
    char text[METE__REPLAY_ERROR_SIZE];
    struct mete__why why = {text, sizeof(text)};
    struct mete__text sample = mete__lines_peek(&run->lines);
    enum mete__reader_result result =
        mete__reader_open(&run->reader, &run->job->wish, sample, run->scratch, METE__LINE_MAX, &why);
    if (result == METE__READER_BAD_WISH) {
        mete__progress_end(&run->progress);
        mete__cli_error(METE__REPLAY_COMMAND, "%s: %s", file->name, text);
    } else if (result == METE__READER_BAD_INPUT && run->input.error[0] == '\0') {
        tell_error(run, text);
    } else if (result == METE__READER_OK) {
        file->format = run->reader.format;
        file->shared_key = run->reader.shared_key;
        file->key_missing = run->reader.key_missing;
        memcpy(file->key_name, run->reader.key_name, sizeof(file->key_name));
        memcpy(file->time_name, run->reader.time_name, sizeof(file->time_name));
        file->lines = run->lines.number;
        file->empty = run->lines.number;
    }
    return result;
}

static enum mete__exit run_file(struct run *run)
{
    struct mete__replay_file *file = &run->report.files[run->file_at];
    if (!mete__input_open(&run->input, file->name)) {
        tell_error(run, run->input.error);
        return METE__EXIT_OK;
    }
    file->gzip = run->input.gzip;
    mete__lines_start(&run->lines, &run->input);
    enum mete__exit result = METE__EXIT_OK;
    enum mete__reader_result opened = open_reader(run);
    if (opened == METE__READER_OK) {
        result = run_lines(run);
        if (result == METE__EXIT_OK && run->input.error[0] == '\0') {
            look_for_absent_field(run);
        }
        mete__reader_close(&run->reader);
    } else if (opened == METE__READER_BAD_WISH) {
        result = METE__EXIT_USAGE;
    }
    if (run->input.error[0] != '\0') {
        tell_error(run, run->input.error);
    }
    run->bytes_done += run->input.bytes_in;
    mete__input_close(&run->input);
    return result;
}

/* --- lines -------------------------------------------------------------- */

/* A quote is open at the end of the line: joins lines until one closes it.  When
 * that does not make a good record, it was a stray quote, and only the first
 * line is lost. */
static enum mete__reason read_joined(struct run *run, struct mete__text line, struct mete__record *record)
{
    enum mete__reason reason = METE__REASON_OPEN_QUOTE;
    for (int i = 1; i < METE__CSV_RECORD_LINES_MAX && mete__lines_extend(&run->lines, &line); i++) {
        reason = mete__reader_read(&run->reader, line, record);
        if (reason != METE__REASON_OPEN_QUOTE) {
            break;
        }
    }
    if (reason == METE__REASON_OPEN_QUOTE || reason == METE__REASON_QUOTES) {
        mete__lines_unextend(&run->lines);
    }
    return reason;
}

static bool take_line(struct run *run, enum mete__line read, struct mete__text line, const struct mete__why *why)
{
    struct mete__replay_file *file = &run->report.files[run->file_at];
    struct mete__record record;
    enum mete__reason reason = METE__REASON_TOO_LONG;
    if (read == METE__LINE_READ) {
        reason = mete__reader_read(&run->reader, line, &record);
        if (reason == METE__REASON_OPEN_QUOTE) {
            reason = read_joined(run, line, &record);
        }
    }
    if (reason != METE__REASON_NONE) {
        file->skipped++;
        mete__report_skip(&run->report, reason, run->file_at, run->lines.number);
        return true;
    }
    file->first_ns = file->requests == 0 ? record.time_ns : file->first_ns;
    file->last_ns = record.time_ns;
    file->requests++;
    return mete__decider_add(&run->decider, &record, why);
}

/* Takes the header, when the format has one: it is the first line that holds anything. */
static bool is_header(struct run *run, struct mete__text line)
{
    bool header = run->reader.header && !mete__line_is_empty(line);
    run->reader.header = run->reader.header && !header;
    return header;
}

static enum mete__exit run_lines(struct run *run)
{
    struct mete__replay_file *file = &run->report.files[run->file_at];
    char text[METE__REPLAY_ERROR_SIZE];
    struct mete__why why = {text, sizeof(text)};
    bool decided = true;
    struct mete__text line = {NULL, NULL};
    enum mete__line read = mete__lines_next(&run->lines, &line);
    for (; read != METE__LINE_END && decided; read = mete__lines_next(&run->lines, &line)) {
        bool empty = read == METE__LINE_READ && mete__line_is_empty(line);
        bool header = read == METE__LINE_READ && is_header(run, line);
        decided = empty || header || take_line(run, read, line, &why);
        file->empty += empty;
        file->lines = run->lines.number + run->lines.lines_joined;
        mete__progress_draw(&run->progress, run->bytes_done + run->input.bytes_in);
    }
    if (!decided || !mete__decider_flush(&run->decider, &why)) {
        mete__progress_end(&run->progress);
        mete__cli_error(METE__REPLAY_COMMAND, "%s: line %" PRIu64 ": %s", file->name, file->lines, text);
        return METE__EXIT_INPUT;
    }
    return METE__EXIT_OK;
}
