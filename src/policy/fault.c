/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/fault.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUOTED_MAX 48u

/* Names in sentences are the file's: none of them may steer a terminal. */
static void make_plain(char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte < ' ' || byte >= 0x7f) {
            *text = '?';
        }
    }
}

void mete__faults_add(struct mete__faults *faults, struct mete__place place, const char *format, ...)
{
    if (faults->count < METE__FAULTS_MAX) {
        struct mete__fault *fault = &faults->items[faults->count];
        va_list values;
        va_start(values, format);
        vsnprintf(fault->sentence, sizeof(fault->sentence), format, values);
        va_end(values);
        make_plain(fault->sentence);
        fault->place = place;
    }
    faults->count++;
}

static bool is_before(const struct mete__place *a, const struct mete__place *b)
{
    return a->line != b->line ? a->line < b->line : a->column < b->column;
}

/* They are few: by insertion, which keeps those of one place in order. */
static void sort(struct mete__faults *faults, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct mete__fault fault = faults->items[i];
        size_t at = i;
        for (; at > 0 && is_before(&fault.place, &faults->items[at - 1].place); at--) {
            faults->items[at] = faults->items[at - 1];
        }
        faults->items[at] = fault;
    }
}

void mete__faults_write(struct mete__faults *faults, const char *file, char *why, size_t why_size)
{
    size_t count = faults->count < METE__FAULTS_MAX ? faults->count : METE__FAULTS_MAX;
    size_t len = 0;
    if (why == NULL || why_size == 0) {
        return;
    }
    why[0] = '\0';
    sort(faults, count);
    for (size_t i = 0; i < count && len < why_size; i++) {
        const struct mete__fault *fault = &faults->items[i];
        const char *gap = i == 0 ? "" : "\n";
        int added = fault->place.line == 0 ? snprintf(why + len, why_size - len, "%s%s: %s", gap, file, fault->sentence)
                                           : snprintf(why + len, why_size - len, "%s%s:%u:%u: %s", gap, file,
                                                      fault->place.line, fault->place.column, fault->sentence);
        len += added > 0 ? (size_t)added : 0;
    }
}

struct mete__quote mete__quote(const char *bytes, size_t len)
{
    static const char hex[] = "0123456789abcdef";
    bool is_cut = len > QUOTED_MAX;
    struct mete__quote quote;
    char *out = quote.text;
    *out++ = '\'';
    for (size_t i = 0; i < (is_cut ? QUOTED_MAX : len); i++) {
        unsigned char byte = (unsigned char)bytes[i];
        if (byte >= ' ' && byte < 0x7f && byte != '\\') {
            *out++ = (char)byte;
            continue;
        }
        *out++ = '\\';
        *out++ = 'x';
        *out++ = hex[byte >> 4];
        *out++ = hex[byte & 15];
    }
    memcpy(out, is_cut ? "...'" : "'", is_cut ? 5 : 2);
    return quote;
}
