/* regex_full_match.c - RegexFullMatch: tests which strings a pattern matches from end to end.
 *
 * The pattern is compiled when a model is loaded, to check it, and again in each run, since params hold no pointers.
 * Source: ONNX operator RegexFullMatch-20. */
#include "ops/extra/regex.h"
#include "runtime/core/base/error.h"
#include "runtime/include/op.h"

typedef struct match_params {
    tort_list pattern;
} match_params;

typedef struct match_job {
    const tort_call *call;
    const tort_regex *regex;
} match_job;

static tort_status open_pattern(const char *pattern, size_t length, tort_regex **regex, tort_error *error) {
    char message[200];
    *regex = tort_regex_open(pattern, length, message, sizeof message);
    if (*regex) return TORT_OK;
    return tort_fail(error, TORT_E_MODEL, "pattern \"%.100s\": %s (syntax of RE2)", pattern, message);
}

/* Checks the pattern; an absent one is empty. */
static tort_status match_infer(tort_infer *infer) {
    const tort_attribute *pattern = tort_attr(infer->node, "pattern");
    tort_regex *regex;
    tort_status status =
        open_pattern(pattern ? pattern->u.s.data : "", pattern ? pattern->u.s.length : 0, &regex, infer->error);
    if (status) return status;
    tort_regex_close(regex);
    tort_infer_same(infer, 0, 0);
    infer->outputs[0].type = TORT_BOOL;
    return TORT_OK;
}

static tort_status match_resolve(tort_resolve *resolve) {
    ((match_params *)resolve->params)->pattern = tort_resolve_list(resolve, "pattern");
    return TORT_OK;
}

static void match_some(void *arg, int64_t begin, int64_t end) {
    const match_job *job = arg;
    const tort_string *texts = job->call->inputs[0].data;
    bool *out = job->call->outputs[0].data;
    int64_t done = 0;
    for (int64_t i = begin; i < end && tort_work_goes_on(job->call->watch, &done, 16 + (int64_t)texts[i].length); i++)
        out[i] = tort_regex_matches(job->regex, texts[i].data, texts[i].length);
}

static tort_status match_reference(const tort_call *call) {
    const match_params *params = call->params;
    const tort_list pattern = params->pattern;
    tort_regex *regex;
    tort_status status = open_pattern(tort_list_at(params, pattern), (size_t)pattern.count, &regex, call->error);
    if (status) return status;
    match_job job = {call, regex};
    tort_parallel(call, tort_count(&call->outputs[0]), 1000, match_some, &job);
    tort_regex_close(regex);
    return TORT_OK;
}

const tort_op tort_ops_regex[] = {
    {"", "RegexFullMatch", 20, TORT_NEWEST_OPSET, "X:T1", "Y:T2", "T1=string T2=bool", "pattern:string",
     .flags = TORT_OP_LISTS, .params_size = sizeof(match_params), match_infer, match_resolve, match_reference},
    {0},
};
