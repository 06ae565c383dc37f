/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/load/ring.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_SEPARATOR ' '

/* A text of which each request is a copy, and where keys are written into it. */
struct form {
    char text[LOAD_TEMPLATE_MAX];
    size_t len;
    size_t holes[LOAD_TEMPLATE_MAX / 2];
    size_t hole_count;
    size_t digits;
    bool is_too_long;
};

/* Steele, Lea, Flood: Fast splittable pseudorandom number generators (2014). */
uint64_t load_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void form_bytes(struct form *form, const char *bytes, size_t len)
{
    if (sizeof(form->text) - form->len < len) {
        form->is_too_long = true;
        return;
    }
    memcpy(form->text + form->len, bytes, len);
    form->len += len;
}

static void form_number(struct form *form, char prefix, size_t number)
{
    char line[32];
    int len = snprintf(line, sizeof(line), "%c%zu\r\n", prefix, number);
    form_bytes(form, line, (size_t)len);
}

/* A piece of the template, with holes of zeros for its %k. */
static void form_piece(struct form *form, const char *piece, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (piece[i] == '%' && i + 1 < len && piece[i + 1] == 'k') {
            form->holes[form->hole_count++] = form->len;
            form_bytes(form, "00000000000000000000", form->digits);
            i++;
        } else {
            form_bytes(form, piece + i, 1);
        }
    }
}

static size_t piece_len(const struct form *form, const char *piece, size_t len)
{
    size_t written = len;
    for (size_t i = 0; i + 1 < len; i++) {
        if (piece[i] == '%' && piece[i + 1] == 'k') {
            written += form->digits - 2;
            i++;
        }
    }
    return written;
}

static size_t word_len(const char *at)
{
    const char *end = strchr(at, WORD_SEPARATOR);
    return end != NULL ? (size_t)(end - at) : strlen(at);
}

static const char *skip_blanks(const char *at)
{
    while (*at == WORD_SEPARATOR) {
        at++;
    }
    return at;
}

static void form_resp(struct form *form, const char *template)
{
    size_t words = 0;
    for (const char *at = skip_blanks(template); *at != '\0'; at = skip_blanks(at + word_len(at))) {
        words++;
    }
    form_number(form, '*', words);
    for (const char *at = skip_blanks(template); *at != '\0'; at = skip_blanks(at + word_len(at))) {
        form_number(form, '$', piece_len(form, at, word_len(at)));
        form_piece(form, at, word_len(at));
        form_bytes(form, "\r\n", 2);
    }
}

static void form_http(struct form *form, const char *target)
{
    static const char before[] = "GET ", after[] = " HTTP/1.1\r\nHost: localhost\r\n\r\n";
    form_bytes(form, before, sizeof(before) - 1);
    form_piece(form, target, strlen(target));
    form_bytes(form, after, sizeof(after) - 1);
}

static size_t digits_of(size_t number)
{
    size_t digits = 1;
    for (; number >= 10; number /= 10) {
        digits++;
    }
    return digits;
}

static void write_key(char *to, size_t digits, size_t key)
{
    for (size_t i = digits; i > 0; i--) {
        to[i - 1] = (char)('0' + key % 10);
        key /= 10;
    }
}

static void write_request(const struct form *form, char *to, size_t key)
{
    memcpy(to, form->text, form->len);
    for (size_t i = 0; i < form->hole_count; i++) {
        write_key(to + form->holes[i], form->digits, key);
    }
}

/* Fisher and Yates: every order is as likely as every other. */
static uint32_t *random_order(size_t keys, uint64_t seed)
{
    uint32_t *order = malloc(keys * sizeof(*order));
    if (order == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < keys; i++) {
        size_t j = load_random(&seed) % (i + 1);
        order[i] = order[j];
        order[j] = (uint32_t)i;
    }
    return order;
}

static bool fill(struct load_ring *ring, const struct form *form, uint64_t seed)
{
    uint32_t *order = random_order(ring->count, seed);
    ring->bytes = malloc((ring->count + ring->slice_max) * form->len);
    if (order == NULL || ring->bytes == NULL) {
        free(order);
        load_ring_clear(ring);
        return false;
    }
    for (size_t i = 0; i < ring->count + ring->slice_max; i++) {
        write_request(form, ring->bytes + i * form->len, order[i % ring->count]);
    }
    free(order);
    return true;
}

bool load_ring_init(struct load_ring *ring, enum load_protocol protocol, const char *template, size_t keys,
                    size_t slice_max, uint64_t seed, char *why, size_t why_size)
{
    struct form form = {.digits = digits_of(keys - 1)};
    memset(ring, 0, sizeof(*ring));
    if (strlen(template) >= LOAD_TEMPLATE_MAX) { /* so there are not more holes than form.holes has room for */
        snprintf(why, why_size, "the template has more than %u bytes", LOAD_TEMPLATE_MAX - 1);
        return false;
    }
    if (protocol == LOAD_RESP) {
        form_resp(&form, template);
    } else {
        form_http(&form, template);
    }
    if (form.is_too_long || form.len == 0) {
        snprintf(why, why_size, "a request has more than %u bytes", LOAD_TEMPLATE_MAX);
        return false;
    }
    if ((keys + slice_max) > LOAD_RING_BYTES_MAX / form.len) {
        snprintf(why, why_size, "%zu requests of %zu bytes are too many to keep", keys, form.len);
        return false;
    }
    *ring = (struct load_ring){.request_len = form.len, .count = keys, .slice_max = slice_max};
    if (!fill(ring, &form, seed)) {
        snprintf(why, why_size, "no memory for %zu requests", keys);
        return false;
    }
    return true;
}

void load_ring_clear(struct load_ring *ring)
{
    free(ring->bytes);
    memset(ring, 0, sizeof(*ring));
}
