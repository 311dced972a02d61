/* providers.c - the list of providers of a command line that has the engines of the tests, and one that computes
 * wrongly. */
#include "ops/ops.h"
#include "runtime/core/base/build.h"
#include "runtime/core/lowered/bodies.h"
#include "runtime/core/passes/passes.h"
#include "tests/segments/engine_provider.h"

extern const tort_provider tort_provider_cpu;

/* The first element of the first output is one more than it should be. */
static tort_status run_wrongly(const tort_call *call) {
    tort_status status = engine_provider.segments->run(call);
    *(float *)call->outputs[0].data += 1;
    return status;
}

static const tort_provider *load_wrong(tort_condition *condition) {
    static tort_kernel segments;
    static tort_provider wrong;
    (void)condition;
    segments = *engine_provider.segments;
    segments.run = run_wrongly;
    wrong = engine_provider;
    wrong.name = "wrong";
    wrong.segments = &segments;
    return &wrong;
}

static const tort_provider wrong_engine = {
    .abi = TORT_PROVIDER_ABI, .name = "wrong", .summary = "for tests: an engine with a bug", .load = load_wrong};

static const tort_provider *const providers[] = {&engine_provider, &ahead_provider, &wrong_engine, &tort_provider_cpu,
                                                 NULL};

const struct tort_build tort_build = {.families = tort_op_families,
                                      .patterns = tort_pattern_tables,
                                      .flops = tort_flops_table,
                                      .refusals = tort_refusals,
                                      .providers = providers,
                                      .calls = &tort_calls,
                                      .segmenting = &tort_segmenting};
