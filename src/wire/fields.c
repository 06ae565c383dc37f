/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A style is data: which fields it has, and what each one's value is made of.  The
 * drafts change names faster than meanings.
 */
#include "wire/fields.h"

#include "base/arith.h"

#include "wire/structured.h"

#define NS_PER_S UINT64_C(1000000000)

/* What a number of a field is. */
enum quantity { CAPACITY, WINDOW, REMAINING, NEXT_UNIT, RESET, RESET_EPOCH };

/* A parameter of an item, or a member of a dictionary. */
struct part {
    const char *key;
    enum quantity quantity;
    unsigned styles; /* written when one of these is on */
};

/* How the value is put together. */
enum form {
    ITEM,       /* one number, of the tightest limit */
    DICTIONARY, /* key=number of the tightest limit */
    NUMBERS,    /* a list: capacity;key=number, no capacity twice */
    NAMES       /* a list: "name";key=number */
};

struct field {
    const char *name;
    unsigned styles;
    enum form form;
    struct part parts[4];
};

#define LISTS (METE__FIELDS_DRAFT_10 | METE__FIELDS_DRAFT_12)
#define ANY UINT32_MAX

/* Of fields with one name the first that is wanted is sent. */
static const struct field fields[] = {
    {"RateLimit-Policy", LISTS, NAMES, {{"q", CAPACITY, ANY}, {"w", WINDOW, ANY}}},
    {"RateLimit-Policy", METE__FIELDS_DRAFT_06 | METE__FIELDS_DRAFT_07, NUMBERS, {{"w", WINDOW, ANY}}},
    {"RateLimit",
     LISTS,
     NAMES,
     {{"r", REMAINING, METE__FIELDS_DRAFT_10},
      {"t", NEXT_UNIT, METE__FIELDS_DRAFT_10},
      {"a", REMAINING, METE__FIELDS_DRAFT_12},
      {"w", NEXT_UNIT, METE__FIELDS_DRAFT_12}}},
    {"RateLimit",
     METE__FIELDS_DRAFT_07,
     DICTIONARY,
     {{"limit", CAPACITY, ANY}, {"remaining", REMAINING, ANY}, {"reset", RESET, ANY}}},
    {"RateLimit-Limit", METE__FIELDS_DRAFT_06, ITEM, {{"", CAPACITY, ANY}}},
    {"RateLimit-Remaining", METE__FIELDS_DRAFT_06, ITEM, {{"", REMAINING, ANY}}},
    {"RateLimit-Reset", METE__FIELDS_DRAFT_06, ITEM, {{"", RESET, ANY}}},
    {"X-RateLimit-Limit", METE__FIELDS_X_DELTA | METE__FIELDS_X_EPOCH, ITEM, {{"", CAPACITY, ANY}}},
    {"X-RateLimit-Remaining", METE__FIELDS_X_DELTA | METE__FIELDS_X_EPOCH, ITEM, {{"", REMAINING, ANY}}},
    {"X-RateLimit-Reset", METE__FIELDS_X_DELTA, ITEM, {{"", RESET, ANY}}},
    {"X-RateLimit-Reset", METE__FIELDS_X_EPOCH, ITEM, {{"", RESET_EPOCH, ANY}}},
};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))
#define PARTS (sizeof(fields[0].parts) / sizeof(fields[0].parts[0]))

struct telling {
    unsigned styles;
    const struct mete__fields_limit *limits;
    size_t count;
    uint64_t wall_ns;
};

uint64_t mete__fields_seconds(uint64_t wait_ns)
{
    return mete__div_ceil_u64(wait_ns, NS_PER_S);
}

/* Fewer units may always be told, and the capacity cannot be exceeded. */
static uint64_t remaining_of(const struct mete__fields_limit *limit)
{
    return limit->remaining < limit->capacity ? limit->remaining : limit->capacity;
}

/* False when there is nothing to say. */
static bool next_unit_of(const struct mete__fields_limit *limit, uint64_t *seconds)
{
    *seconds = 0;
    if (limit->remaining >= limit->capacity || limit->next_unit_ns == METE__FIELDS_UNKNOWN) {
        return false;
    }
    *seconds = mete__fields_seconds(limit->next_unit_ns);
    return true;
}

/* The second in which the reset has happened: rounding down would name a moment before it. */
static uint64_t epoch_of(uint64_t wall_ns, uint64_t wait_ns)
{
    uint64_t sum;
    return __builtin_add_overflow(wall_ns, wait_ns, &sum) ? METE__SF_INTEGER_MAX : mete__fields_seconds(sum);
}

static bool quantity_of(const struct telling *telling, const struct mete__fields_limit *limit, enum quantity quantity,
                        uint64_t *value)
{
    switch (quantity) {
    case CAPACITY:
        *value = limit->capacity;
        return true;
    case WINDOW:
        *value = limit->window_s > 0 ? limit->window_s : 1;
        return true;
    case REMAINING:
        *value = remaining_of(limit);
        return true;
    case NEXT_UNIT:
        return next_unit_of(limit, value);
    case RESET:
        *value = mete__fields_seconds(limit->reset_after_ns);
        return true;
    case RESET_EPOCH:
        *value = epoch_of(telling->wall_ns, limit->reset_after_ns);
        return true;
    }
    return false;
}

static void write_parts(struct mete__out *out, const struct telling *telling, const struct field *field,
                        const struct mete__fields_limit *limit)
{
    for (size_t i = 0; i < PARTS && field->parts[i].key != NULL; i++) {
        const struct part *part = &field->parts[i];
        uint64_t value;
        if ((part->styles & telling->styles) != 0 && quantity_of(telling, limit, part->quantity, &value)) {
            mete__sf_key(out, part->key);
            mete__sf_integer(out, value);
        }
    }
}

static void write_item(struct mete__out *out, const struct telling *telling, const struct field *field)
{
    uint64_t value = 0;
    const struct mete__fields_limit *limit = telling->limits + mete__fields_tightest(telling->limits, telling->count);
    (void)quantity_of(telling, limit, field->parts[0].quantity, &value);
    mete__sf_integer(out, value);
}

/* RFC 9651, section 4.1.2: members are joined by ", ". */
static void write_dictionary(struct mete__out *out, const struct telling *telling, const struct field *field)
{
    const struct mete__fields_limit *limit = telling->limits + mete__fields_tightest(telling->limits, telling->count);
    for (size_t i = 0; i < PARTS && field->parts[i].key != NULL; i++) {
        uint64_t value = 0;
        (void)quantity_of(telling, limit, field->parts[i].quantity, &value);
        mete__out_text(out, i > 0 ? ", " : "");
        mete__out_text(out, field->parts[i].key);
        mete__out_text(out, "=");
        mete__sf_integer(out, value);
    }
}

static bool has_capacity_before(const struct telling *telling, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (telling->limits[i].capacity == telling->limits[index].capacity) {
            return true;
        }
    }
    return false;
}

/* One that cannot be serialised is left out, as it would make clients ignore the whole field. */
static bool is_listed(const struct telling *telling, const struct field *field, size_t index)
{
    return field->form == NAMES ? mete__sf_is_string(telling->limits[index].name)
                                : !has_capacity_before(telling, index);
}

static void write_list(struct mete__out *out, const struct telling *telling, const struct field *field)
{
    bool is_first = true;
    for (size_t i = 0; i < telling->count; i++) {
        const struct mete__fields_limit *limit = &telling->limits[i];
        if (!is_listed(telling, field, i)) {
            continue;
        }
        mete__out_text(out, is_first ? "" : ", ");
        is_first = false;
        if (field->form == NAMES) {
            mete__sf_string(out, limit->name);
        } else {
            mete__sf_integer(out, limit->capacity);
        }
        write_parts(out, telling, field, limit);
        if (field->form == NAMES && limit->partition.len > 0) {
            mete__sf_key(out, "pk");
            mete__sf_bytes(out, limit->partition);
        }
    }
}

/* An empty list is no field at all (RFC 9651, section 4.1.1). */
static bool has_member(const struct telling *telling, const struct field *field)
{
    for (size_t i = 0; i < telling->count; i++) {
        if (field->form != NAMES || is_listed(telling, field, i)) {
            return true;
        }
    }
    return false;
}

static bool is_sent_before(const struct telling *telling, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if ((fields[i].styles & telling->styles) != 0 && strcmp(fields[i].name, fields[index].name) == 0) {
            return true;
        }
    }
    return false;
}

void mete__fields_write(struct mete__out *out, unsigned styles, const struct mete__fields_limit *limits, size_t count,
                        uint64_t wall_ns)
{
    const struct telling telling = {styles, limits, count, wall_ns};
    for (size_t i = 0; i < FIELDS; i++) {
        const struct field *field = &fields[i];
        if ((field->styles & styles) == 0 || is_sent_before(&telling, i) || !has_member(&telling, field)) {
            continue;
        }
        mete__out_text(out, field->name);
        mete__out_text(out, ": ");
        if (field->form == ITEM) {
            write_item(out, &telling, field);
        } else if (field->form == DICTIONARY) {
            write_dictionary(out, &telling, field);
        } else {
            write_list(out, &telling, field);
        }
        mete__out_text(out, "\r\n");
    }
}

/* The longest wait over the limits that deny; after it none of them denies. */
uint64_t mete__fields_retry_after(const struct mete__fields_limit *limits, size_t count)
{
    uint64_t longest = 1;
    for (size_t i = 0; i < count; i++) {
        if (limits[i].retry_after_ns == UINT64_MAX) {
            return 0;
        }
        uint64_t next = 0;
        uint64_t wait = mete__fields_seconds(limits[i].retry_after_ns);
        if (wait > 0 && next_unit_of(&limits[i], &next) && next > wait) {
            wait = next; /* draft-10, section 5: Retry-After is not earlier than t */
        }
        longest = wait > longest ? wait : longest;
    }
    return longest;
}

size_t mete__fields_tightest(const struct mete__fields_limit *limits, size_t count)
{
    size_t found = 0;
    for (size_t i = 1; i < count; i++) {
        uint64_t here = remaining_of(&limits[i]);
        uint64_t there = remaining_of(&limits[found]);
        if (here < there || (here == there && limits[i].reset_after_ns > limits[found].reset_after_ns)) {
            found = i;
        }
    }
    return found;
}
