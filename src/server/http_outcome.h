/* SPDX-License-Identifier: Apache-2.0 */
/* A decision as an HTTP answer: status, rate limit fields, JSON or problem details. */
#ifndef METE_SERVER_HTTP_OUTCOME_H
#define METE_SERVER_HTTP_OUTCOME_H

#include "server/http_answer.h"

struct mete__http_decided {
    const struct mete__bound_policy *bound;
    const struct mete__outcome *outcome;
    const void *key;
    size_t key_len;
    uint64_t cost;
    bool is_question; /* a peek: "no" is a good answer to it, with status 200 */
};

/* The whole answer, appended to out. */
void mete__http_decided_answer(struct mete__out *out, uint32_t how, const struct mete__http_decided *decided);

/* {"allowed":true,"limit":...}: one member of a batch's answers. */
void mete__http_decided_json(struct mete__out *out, const struct mete__http_decided *decided);

#endif
