/* providers.c - the providers of tinyort-lesson: the one that is written for readers, an engine that compiles segments,
 * and the CPU. */
#include "ops/ops.h"
#include "runtime/core/base/build.h"
#include "runtime/core/lowered/bodies.h"
#include "runtime/core/passes/passes.h"
#include "runtime/include/provider.h"
#include "tests/fake_provider.h"
#include "tests/segments/engine_provider.h"

extern const tort_provider tort_provider_cpu;

static const tort_provider *load_fake(tort_condition *condition) {
    (void)condition;
    return fake_providers[0];
}

static const tort_provider fake = {
    .abi = TORT_PROVIDER_ABI, .name = "fake", .summary = "a provider in 60 lines", .load = load_fake};

static const tort_provider *const providers[] = {&fake, &engine_provider, &tort_provider_cpu, NULL};

const struct tort_build tort_build = {.families = tort_op_families,
                                      .patterns = tort_pattern_tables,
                                      .flops = tort_flops_table,
                                      .refusals = tort_refusals,
                                      .providers = providers,
                                      .calls = &tort_calls,
                                      .segmenting = &tort_segmenting};
