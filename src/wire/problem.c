/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/problem.h"

#include "wire/json.h"

static const struct {
    unsigned status;
    const char *phrase;
} reasons[] = {
    {100, "Continue"},
    {200, "OK"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {505, "HTTP Version Not Supported"},
};

const char *mete__http_reason(unsigned status)
{
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        if (reasons[i].status == status) {
            return reasons[i].phrase;
        }
    }
    return "Denied";
}

void mete__problem_open(struct mete__out *out, const struct mete__problem *problem)
{
    mete__out_text(out, "{\"type\":\"");
    mete__out_text(out, problem->type != NULL ? problem->type : "about:blank");
    mete__out_text(out, "\",\"title\":\"");
    mete__out_text(out, problem->title != NULL ? problem->title : mete__http_reason(problem->status));
    mete__out_text(out, "\",\"status\":");
    mete__out_u64(out, problem->status);
    if (problem->detail.len > 0) {
        mete__out_text(out, ",\"detail\":");
        mete__json_string(out, problem->detail);
    }
    if (problem->violated != NULL) {
        mete__out_text(out, ",\"violated-policies\":[");
        for (size_t i = 0; i < problem->violated_count; i++) {
            mete__out_text(out, i > 0 ? "," : "");
            mete__json_string(out, problem->violated[i]);
        }
        mete__out_text(out, "]");
    }
}

void mete__problem_write(struct mete__out *out, const struct mete__problem *problem)
{
    mete__problem_open(out, problem);
    mete__out_text(out, "}");
}
