/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/opponent.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define SHARDS 64u /* the usual number: far more locks than cores, few enough to fit the L1 cache */

struct node {
    struct node *next;
    double tokens;
    double last_s;
    size_t key_len;
    unsigned char key[];
};

/* Padded to a line, so that two shards never share one. */
struct shard {
    _Alignas(64) pthread_mutex_t mutex;
    struct node **heads;
};

struct opponent {
    struct shard shards[SHARDS];
    const mete_store *clock_store;
    uint64_t start_ns;
    double rate_per_s;
    double burst;
    size_t heads_mask;
    struct mete__secret secret;
};

static struct node *find(struct node *node, const void *key, size_t key_len)
{
    while (node != NULL && !(node->key_len == key_len && memcmp(node->key, key, key_len) == 0)) {
        node = node->next;
    }
    return node;
}

static struct node *insert(struct node **head, const void *key, size_t key_len, double burst, double now_s)
{
    struct node *node = malloc(sizeof(*node) + key_len);
    if (node == NULL) {
        return NULL;
    }
    node->tokens = burst;
    node->last_s = now_s;
    node->key_len = key_len;
    memcpy(node->key, key, key_len);
    node->next = *head;
    *head = node;
    return node;
}

/* Another thread may have read a later time and come first: time never goes
 * back for a node. */
static bool take_token(struct node *node, double rate_per_s, double burst, double now_s)
{
    if (now_s > node->last_s) {
        double tokens = node->tokens + (now_s - node->last_s) * rate_per_s;
        node->tokens = tokens < burst ? tokens : burst;
        node->last_s = now_s;
    }
    if (node->tokens < 1.0) {
        return false;
    }
    node->tokens -= 1.0;
    return true;
}

bool opponent_allow(struct opponent *opponent, const void *key, size_t key_len)
{
    struct mete__hash hash = mete__hash_key(&opponent->secret, key, key_len);
    double now_s = (double)(int64_t)(mete_store_now(opponent->clock_store) - opponent->start_ns) * 1e-9;
    struct shard *shard = &opponent->shards[hash.hi % SHARDS];
    struct node **head = &shard->heads[hash.lo & opponent->heads_mask];

    pthread_mutex_lock(&shard->mutex);
    struct node *node = find(*head, key, key_len);
    if (node == NULL) {
        node = insert(head, key, key_len, opponent->burst, now_s);
    }
    bool allowed = node != NULL && take_token(node, opponent->rate_per_s, opponent->burst, now_s);
    pthread_mutex_unlock(&shard->mutex);
    return allowed;
}

/* About one chain per key: a power of two, so that a mask picks the chain. */
static size_t heads_per_shard(size_t keys)
{
    size_t heads = 1;
    while (heads * SHARDS < keys) {
        heads *= 2;
    }
    return heads;
}

struct opponent *opponent_create(size_t keys, double rate_per_s, double burst, const mete_store *clock_store)
{
    struct opponent *opponent = aligned_alloc(_Alignof(struct opponent), sizeof(*opponent));
    if (opponent == NULL) {
        return NULL;
    }
    size_t heads = heads_per_shard(keys);
    memset(opponent, 0, sizeof(*opponent));
    opponent->clock_store = clock_store;
    opponent->start_ns = mete_store_now(clock_store);
    opponent->rate_per_s = rate_per_s;
    opponent->burst = burst;
    opponent->heads_mask = heads - 1;
    mete__secret_derive(&opponent->secret, (const unsigned char[32]){0}, "opponent", 8);

    bool made = true;
    for (size_t i = 0; i < SHARDS; i++) {
        struct shard *shard = &opponent->shards[i];
        pthread_mutex_init(&shard->mutex, NULL);
        shard->heads = calloc(heads, sizeof(*shard->heads));
        made = made && shard->heads != NULL;
    }
    if (!made) {
        opponent_destroy(opponent);
        return NULL;
    }
    return opponent;
}

static void free_chain(struct node *node)
{
    while (node != NULL) {
        struct node *next = node->next;
        free(node);
        node = next;
    }
}

void opponent_destroy(struct opponent *opponent)
{
    if (opponent == NULL) {
        return;
    }
    for (size_t i = 0; i < SHARDS; i++) {
        struct shard *shard = &opponent->shards[i];
        for (size_t j = 0; shard->heads != NULL && j <= opponent->heads_mask; j++) {
            free_chain(shard->heads[j]);
        }
        free(shard->heads);
        pthread_mutex_destroy(&shard->mutex);
    }
    free(opponent);
}
