/* providers.c - the providers of tinyort-lesson: the one that is written for readers, an engine that compiles segments,
 * and the CPU. */
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

const tort_provider *const tort_providers[] = {&fake, &engine_provider, &tort_provider_cpu, NULL};
