/* fake_provider.c - a whole execution provider, written for readers.
 *
 * "fake" is a device whose memory the host does not share: tinyort allocates in it, copies values in and out, and runs
 * two kernels there. That is all there is to a provider: say how to open it, what it can run (claim) and run it.
 * Read next: runtime/core/passes/place.c, which asks it; kernels/cuda/, a real one. */
#include "tests/fake_provider.h"

#include <stdlib.h>
#include <string.h>

static void fake_open(const tort_provider_config *config, void **device, tort_target *target,
                      tort_condition *condition) {
    (void)config;
    *device = NULL; /* a real one opens its driver here */
    *target = (tort_target){.description = "a device that exists in tests only"};
    *condition = (tort_condition){.ready = true, .code = "READY"};
}

static void *fake_alloc(void *device, size_t bytes) {
    (void)device;
    return aligned_alloc(TORT_DEVICE_ALIGN, (bytes + TORT_DEVICE_ALIGN - 1) / TORT_DEVICE_ALIGN * TORT_DEVICE_ALIGN);
}

static void fake_free(void *device, void *ptr, size_t bytes) {
    (void)device, (void)bytes;
    free(ptr);
}

static tort_status fake_copy(void *device, void *stream, void *dst, const void *src, size_t bytes,
                             tort_direction direction, tort_error *error) {
    (void)device, (void)stream, (void)direction, (void)error; /* a real one asks which side is the device */
    memcpy(dst, src, bytes);
    return TORT_OK;
}

/* A claim is pure: it looks at the node, not at a device. A refusal says what was found and what helps. */
static tort_verdict claim_float(const tort_target *target, const tort_node_view *node) {
    (void)target;
    if (node->inputs[0].type == TORT_FLOAT) return tort_yes();
    return tort_no(TORT_NO_TYPE, "export the model in float32", "its type is %s, fake computes in float",
                   tort_type_name(node->inputs[0].type));
}

static tort_status run_relu(const tort_call *call) {
    const float *x = call->inputs[0].data;
    float *y = call->outputs[0].data;
    for (int64_t i = 0; i < tort_count(&call->outputs[0]); i++) y[i] = x[i] > 0 ? x[i] : 0;
    return TORT_OK;
}

static tort_status run_neg(const tort_call *call) {
    const float *x = call->inputs[0].data;
    float *y = call->outputs[0].data;
    for (int64_t i = 0; i < tort_count(&call->outputs[0]); i++) y[i] = -x[i];
    return TORT_OK;
}

/* Claim and run stand in one row, so that they cannot drift apart. */
static const tort_kernel kernels[] = {
    {.domain = "", .op = "Relu", .name = "fake_relu", .claim = claim_float, .run = run_relu},
    {.domain = "", .op = "Neg", .name = "fake_neg", .claim = claim_float, .run = run_neg},
    {.op = NULL},
};

static const tort_kernel *const tables[] = {kernels, NULL};
static const tort_provider fake = {.abi = TORT_PROVIDER_ABI,
                                   .name = "fake",
                                   .summary = "for tests",
                                   .kernels = tables,
                                   .open = fake_open,
                                   .memory.alloc = fake_alloc,
                                   .memory.free = fake_free,
                                   .memory.copy = fake_copy};

/* A second fake is one more vtable and one more line here. */
const tort_provider *const fake_providers[] = {&fake, NULL};
