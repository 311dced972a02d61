/* unpool.c - rows of MaxUnpool and Col2Im. Kernels: unpool.cu. */
#include "kernels/cuda/unpool.h"

#include <string.h>

#include "ops/extent.h"
#include "ops/max_unpool.h"

/* Scratch memory: a word for each element of the output. */
static tort_status size_unpool(const tort_target *target, const tort_node_view *node, size_t *scratch,
                               tort_error *error) {
    const tort_info *y = &node->outputs[0];
    (void)target;
    if (tort_mul_size((uint64_t)tort_extent(y->dims, 0, y->rank), sizeof(unsigned long long), scratch)) return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

#ifdef CUDA_DEVICE
static tort_status prepare_unpool(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_unpool(cuda_element_bytes(p->node->inputs[0].type)));
}

static tort_status run_unpool(const tort_call *call) {
    const tort_max_unpool_params *params = call->params;
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    gpu_unpool p = {.rank = y->rank,
                    .node = call->node,
                    .total = 1,
                    .count = (size_t)tort_count(x),
                    .outputs = (size_t)tort_count(y),
                    .x = x->data,
                    .indices = call->inputs[1].data,
                    .last = call->scratch,
                    .y = y->data};
    if (!p.outputs) return TORT_OK;
    p.status = cuda_status_word(call);
    memcpy(p.to, y->dims, sizeof p.to);
    for (int32_t i = 0; i < p.rank; i++) p.total *= params->unpooled[i];
    for (int32_t i = 0; i < p.rank; i++) p.from[i] = gpu_divisor_of(params->unpooled[i], (uint64_t)p.total);
    cuda_count_copy(call); /* the launcher clears `last` by a memset */
    return cuda_launched(call, gpu_run_unpool(cuda_stream_of(call), cuda_element_bytes(x->type), &p));
}

static tort_status prepare_col2im(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_col2im(gpu_number_of(p->node->inputs[0].type)));
}

static tort_status run_col2im(const tort_call *call) {
    const tort_col2im_params *params = call->params;
    const tort_tensor *y = &call->outputs[0];
    gpu_col2im p = {.params = *params, .count = (size_t)tort_count(y), .x = call->inputs[0].data, .y = y->data};
    if (!p.count) return TORT_OK;
    p.max = p.count;
    for (int32_t k = 0; k < params->spatial; k++) {
        const uint64_t reach = (uint64_t)(params->image[k] + params->pads[k] + params->dilations[k]);
        if (p.max < reach) p.max = reach;
    }
    p.pixels = gpu_divisor_of(tort_extent(y->dims, 2, y->rank), p.max);
    for (int32_t k = 0; k < params->spatial; k++) {
        p.image[k] = gpu_divisor_of(params->image[k], p.max);
        p.stride[k] = gpu_divisor_of(params->strides[k], p.max);
        p.step[k] = gpu_divisor_of(params->dilations[k], p.max);
    }
    return cuda_launched(call, gpu_run_col2im(cuda_stream_of(call), gpu_number_of(y->type), &p));
}
#endif

/* The shapes of Col2Im are read while planning, or on the host. */
const tort_kernel tort_cuda_unpool_kernels[] = {
    {"", "MaxUnpool", "unpool", .host_inputs = 1u << 2, .claim = tort_cuda_claim_real, .size = size_unpool,
     .prepare = CUDA_ONLY(prepare_unpool), .run = CUDA_ONLY(run_unpool)},
    {"", "Col2Im", "col2im", .host_inputs = 1u << 1 | 1u << 2, .claim = tort_cuda_claim_number,
     .prepare = CUDA_ONLY(prepare_col2im), .run = CUDA_ONLY(run_col2im)},
    {.op = NULL},
};
