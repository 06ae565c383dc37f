/* SPDX-License-Identifier: Apache-2.0 */
/* What a request asks: policy, key, cost and the rest, by query parameters or members of a JSON object. */
#ifndef METE_SERVER_HTTP_ARGS_H
#define METE_SERVER_HTTP_ARGS_H

#include <jansson.h>

#include "server/http_call.h"

#define METE__HTTP_REQUESTS_MAX 256u /* of one batch */

struct mete__http_args {
    struct mete__span policy;
    struct mete__span key;
    uint64_t cost;
    uint64_t wait_ms_max;
    uint64_t deny_status; /* 0: the policy's */
    unsigned given;       /* which of them: bits by place in the table of http_args.c */
    bool is_key_copied;   /* it lies in the session's scratch */
};

#define METE__ARG_POLICY 1u
#define METE__ARG_KEY 2u
#define METE__ARG_COST 4u
#define METE__ARG_WAIT 8u
#define METE__ARG_STATUS 16u
#define METE__ARG_KEY_BASE64 32u

/*
 * The parameters of a query; unknown names, names given twice and values that cannot be
 * read are refused, unless is_lenient: then unknown names are passed over.  Decoded text
 * goes to `to`, which has room for the query's length.  False: answered.
 */
bool mete__http_args_query(struct mete__http_call *call, struct mete__http_args *args, bool is_lenient, char *to);

/*
 * The members of a JSON object; keys of "key_base64" are decoded into `to`, which has room for the body's
 * length, and *to moves on.  `where` names the object in sentences: "" or "requests[3].".  The
 * object owns the text.  False: answered.
 */
bool mete__http_args_json(struct mete__http_call *call, struct mete__http_args *args, json_t *object, const char *where,
                          char **to);

/* The body as a JSON object; *out is NULL when there is no body.  False: answered. */
bool mete__http_args_body(struct mete__http_call *call, struct mete__span body, json_t **out);

/* A decimal number of 64 bits, whole; false when it is anything else. */
bool mete__http_number(struct mete__span text, uint64_t *out);

#endif
