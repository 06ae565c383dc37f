/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/log_record.h"

#include "base/assert.h"
#include "base/text.h"

static const struct {
    const char *name;
    const char *text;
} reasons[METE__REASONS] = {
    [METE__REASON_NONE] = {"none", "a request"},
    [METE__REASON_TOO_LONG] = {"too_long", "longer than 1 MiB"},
    [METE__REASON_ADDRESS] = {"no_address", "no client address at the start"},
    [METE__REASON_NO_TIME] = {"no_time", "no time where one belongs"},
    [METE__REASON_BAD_TIME] = {"bad_time", "the time cannot be read"},
    [METE__REASON_TIME_RANGE] = {"time_range", "the time is before 1970 or after 2099"},
    [METE__REASON_NO_REQUEST] = {"no_request", "no request after the time"},
    [METE__REASON_NO_KEY] = {"no_key", "the key field is missing, empty or cut off"},
    [METE__REASON_NO_COST] = {"no_cost", "the cost field is missing or cut off"},
    [METE__REASON_BAD_COST] = {"bad_cost", "the cost is not a whole number of 64 bits"},
    [METE__REASON_JSON] = {"not_json", "not a JSON object"},
    [METE__REASON_QUOTES] = {"bad_quotes", "text after a closing quote"},
    [METE__REASON_OPEN_QUOTE] = {"open_quote", "a quote that is never closed"},
    [METE__REASON_NUL] = {"nul", "NUL bytes"},
};

const char *mete__reason_name(enum mete__reason reason)
{
    METE_ASSERT(reason < METE__REASONS);
    return reasons[reason].name;
}

const char *mete__reason_text(enum mete__reason reason)
{
    METE_ASSERT(reason < METE__REASONS);
    return reasons[reason].text;
}

enum mete__reason mete__cost_read(const char *bytes, size_t len, uint64_t *out)
{
    struct mete__text text = mete__text_of(bytes, len);
    uint64_t cost = 0;
    if (mete__text_u64(&text, &cost) != METE__NUMBER_OK || !mete__text_is_empty(&text)) {
        return METE__REASON_BAD_COST;
    }
    *out = cost;
    return METE__REASON_NONE;
}
