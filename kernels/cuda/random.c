/* random.c - rows of RandomNormal, RandomUniform, their forms that take a shape from a tensor, Bernoulli and
 * Multinomial: a seed gives cpu's numbers. Without one each run takes one from the system. Kernel: random.cu. */
#include "kernels/cuda/random.h"

#include "ops/random.h"
#include "runtime/core/base/hash.h"

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    const bool reads = node->kernel->variant == GPU_BERNOULLI || node->kernel->variant == GPU_MULTINOMIAL;
    (void)target;
    if (reads && gpu_number_of(node->inputs[0].type) == GPU_NUMBER_COUNT)
        return tort_cuda_no_type(node, 0, "floats of 16 to 64 bits");
    return tort_yes();
}

#ifdef CUDA_DEVICE
static tort_status prepare(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_random());
}

static tort_status run(const tort_call *call) {
    const tort_distribution *params = call->params;
    const tort_tensor *x = tort_call_input(call, 0), *y = &call->outputs[0];
    gpu_random random = {.drawn = (gpu_drawn)call->kernel->variant,
                         .seed = params->seed.value,
                         .base = params->base,
                         .scale = params->scale,
                         .y_type = gpu_number_of(y->type),
                         .count = (size_t)tort_count(y),
                         .y = y->data,
                         .node = call->node};
    if (!random.count) return TORT_OK;
    if (random.drawn == GPU_BERNOULLI || random.drawn == GPU_MULTINOMIAL) {
        random.x = x->data;
        random.x_type = gpu_number_of(x->type);
        random.status = cuda_status_word(call);
    }
    if (random.drawn == GPU_MULTINOMIAL) {
        random.classes = (size_t)x->dims[1];
        random.samples = (size_t)y->dims[1];
        if (!random.classes) return tort_fail(call->error, TORT_E_RUN, "there are no classes to draw from");
    }
    if (!params->seed.given) {
        uint64_t bits[2];
        tort_random_bits(bits);
        random.seed = (uint32_t)bits[0];
    }
    return cuda_launched(call, gpu_run_random(cuda_stream_of(call), &random));
}
#endif

#define ROW(op_, variant_)                                                                                             \
    {                                                                                                                  \
        .domain = "", .op = op_, .name = "random", .claim = claim, .prepare = CUDA_ONLY(prepare),                      \
        .run = CUDA_ONLY(run), .variant = variant_                                                                     \
    }

const tort_kernel tort_cuda_random_kernels[] = {
    ROW("RandomUniform", GPU_UNIFORM),
    ROW("RandomUniformLike", GPU_UNIFORM),
    ROW("RandomNormal", GPU_NORMAL),
    ROW("RandomNormalLike", GPU_NORMAL),
    ROW("Bernoulli", GPU_BERNOULLI),
    ROW("Multinomial", GPU_MULTINOMIAL),
    {.op = NULL},
};
