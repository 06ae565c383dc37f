/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as a common or combined log, and as times.  What is a request has a time
 * in range and a key that lies in its line; it stays the same request when the
 * line goes on; and the remembered time changes no answer.
 */
#include <stdint.h>
#include <string.h>

#include <mete/mete.h>

#include "base/assert.h"
#include "cli/log_clf.h"
#include "cli/log_sniff.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool same(const struct mete__record *a, const struct mete__record *b)
{
    return a->key == b->key && a->key_len == b->key_len && a->time_ns == b->time_ns && a->cost == b->cost;
}

static void check_record(struct mete__text line, enum mete__clf_field key, const struct mete__record *record)
{
    METE_ASSERT(record->time_ns <= METE_TIME_MAX);
    METE_ASSERT(record->key >= line.at && record->key + record->key_len <= line.end);
    METE_ASSERT((record->key_len == 0) == (key == METE__CLF_NONE));
}

static void check_line(struct mete__clf *clf, struct mete__text line)
{
    struct mete__record record;
    struct mete__record again;
    struct mete__clf fresh;
    mete__clf_init(&fresh, clf->key, clf->cost);
    enum mete__reason reason = mete__clf_read(clf, line, &record);
    METE_ASSERT(mete__clf_read(&fresh, line, &again) == reason);
    if (reason == METE__REASON_NONE) {
        check_record(line, clf->key, &record);
        METE_ASSERT(same(&record, &again));
    }
    if (clf->key == METE__CLF_ADDRESS && clf->cost == METE__CLF_NONE && line.end > line.at) {
        struct mete__text shorter = {line.at, line.end - 1};
        if (mete__clf_read(&fresh, shorter, &again) == METE__REASON_NONE) {
            METE_ASSERT(reason == METE__REASON_NONE && same(&record, &again));
        }
    }
    (void)mete__clf_is_combined(line);
}

static void check_time(struct mete__text text)
{
    uint64_t time_ns = 0;
    if (mete__time_read(text, &time_ns) == METE__REASON_NONE) {
        METE_ASSERT(time_ns <= METE_TIME_MAX);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Every field as a key, then as a cost. */
    for (enum mete__clf_field field = METE__CLF_NONE; field < METE__CLF_FIELDS; field++) {
        struct mete__clf by_key;
        struct mete__clf by_cost;
        mete__clf_init(&by_key, field, METE__CLF_NONE);
        mete__clf_init(&by_cost, METE__CLF_ADDRESS, field);
        struct mete__text rest = mete__text_of((const char *)data, size);
        struct mete__text line;
        while (mete__text_take_line(&rest, &line)) {
            check_line(&by_key, line);
            check_line(&by_cost, line);
            check_time(line);
        }
    }
    return 0;
}
