/* providers.c - the list of providers of a command line that has the one with the channels last, and one that computes
 * wrongly. */
#include "ops/ops.h"
#include "runtime/core/base/build.h"
#include "runtime/core/lowered/bodies.h"
#include "tests/layouts/channels_provider.h"

extern const tort_provider tort_provider_cpu;

enum { ROWS = 7, FIRST = 0 };

/* The first element of the first output is one more than it should be. */
static tort_status run_wrongly(const tort_call *call) {
    tort_status status = (*channels_provider.kernels)[FIRST].run(call);
    *(float *)call->outputs[0].data += 1;
    return status;
}

static const tort_provider *load_wrong(tort_condition *condition) {
    static tort_kernel rows[ROWS];
    static const tort_kernel *const tables[] = {rows, NULL};
    static tort_provider wrong;
    (void)condition;
    for (int32_t i = 0; i < ROWS; i++) rows[i] = (*channels_provider.kernels)[i];
    rows[FIRST].run = run_wrongly;
    wrong = channels_provider;
    wrong.name = "wrong";
    wrong.kernels = tables;
    return &wrong;
}

static const tort_provider wrong_channels = {
    .abi = TORT_PROVIDER_ABI, .name = "wrong", .summary = "for tests: channels with a bug", .load = load_wrong};

static const tort_provider *const providers[] = {&channels_provider, &wrong_channels, &tort_provider_cpu, NULL};

const struct tort_build tort_build = {.families = tort_op_families,
                                      .patterns = tort_pattern_tables,
                                      .flops = tort_flops_table,
                                      .refusals = tort_refusals,
                                      .providers = providers,
                                      .calls = &tort_calls};
