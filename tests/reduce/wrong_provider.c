/* wrong_provider.c - a provider with a fault: it takes some operators where an extent of the output is that of its
 * option `size`, computes them by their plain loops, and spoils one element. */
#include "ops/ops.h"
#include "runtime/core/base/build.h"
#include "runtime/core/lowered/bodies.h"
#include <stdlib.h>

#include "runtime/include/op.h"
#include "runtime/include/provider.h"

extern const tort_provider tort_provider_cpu;

static void wrong_open(const tort_provider_config *config, void **device, tort_target *target,
                       tort_condition *condition) {
    const char *size = tort_provider_option_get(config, "size");
    *device = NULL;
    *target = (tort_target){.description = "computes wrongly", .facts[0] = size ? atoi(size) : 0};
    *condition = (tort_condition){.ready = true, .code = "READY"};
}

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    const tort_info *y = &node->outputs[0];
    bool chosen = false;
    for (int32_t i = 0; i < y->rank; i++) chosen = chosen || y->dims[i] == target->facts[0];
    return chosen && y->type == TORT_FLOAT ? tort_yes()
                                           : tort_no(TORT_NO_SHAPE, "", "has no extent of the option size");
}

static void spoil(float *element) {
    *element = 2 * *element + 1;
}

static tort_status run(const tort_call *call) {
    const tort_status status = call->op->reference(call);
    if (!status && tort_count(&call->outputs[0])) spoil(call->outputs[0].data);
    return status;
}

static const tort_kernel kernels[] = {
    {"", "Relu", "wrong", .claim = claim, .run = run},
    {"", "Tanh", "wrong", .claim = claim, .run = run},
    {"", "Neg", "wrong", .claim = claim, .run = run},
    {"", "Sigmoid", "wrong", .claim = claim, .run = run},
    {"", "HardSwish", "wrong", .claim = claim, .run = run},
    {"", "Add", "wrong", .claim = claim, .run = run},
    {.op = NULL},
};
static const tort_kernel *const tables[] = {kernels, NULL};
static const tort_option_help options[] = {{"size", "3", "the dimension of wrong results"}, {0}};

static const tort_provider wrong = {.abi = TORT_PROVIDER_ABI,
                                    .name = "wrong",
                                    .summary = "has a fault, for tests",
                                    .options = options,
                                    .kernels = tables,
                                    .host_memory = true,
                                    .open = wrong_open};

static const tort_provider *const providers[] = {&wrong, &tort_provider_cpu, NULL};

const struct tort_build tort_build = {.families = tort_op_families,
                                      .patterns = tort_pattern_tables,
                                      .flops = tort_flops_table,
                                      .refusals = tort_refusals,
                                      .providers = providers,
                                      .calls = &tort_calls};
