/* pool_any.c - kernel table and claims of all pools in their general form: any number of spatial axes, indices of
 * the maxima, LpPool, every type. They follow the faster ones of pool.c in the table order. Kernels: pool_any.cu. */
#include "kernels/cuda/pool_any.h"

#include "ops/extent.h"

/* Types need no check: the kernel has all that the operators allow. */
static tort_verdict claim_any_pool(const tort_target *target, const tort_node_view *node) {
    (void)target;
    return tort_cuda_claim_rank(node);
}

#ifdef CUDA_DEVICE
static int pool_type(tort_type type) {
    return type == TORT_INT8 ? GPU_POOL_INT8 : type == TORT_UINT8 ? GPU_POOL_UINT8 : (int)gpu_type_of(type);
}

static tort_status prepare_any_pool(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_any_pool(pool_type(p->node->inputs[0].type)));
}

static tort_status run_any_pool(const tort_call *call) {
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    const gpu_any_pool pool = {.params = *(const tort_pool_params *)call->params,
                               .count = (size_t)tort_count(y),
                               .plane = (size_t)tort_extent(x->dims, 2, x->rank),
                               .output_plane = (size_t)tort_extent(y->dims, 2, y->rank),
                               .x = x->data,
                               .y = y->data,
                               .indices = cuda_output(call, 1)};
    return cuda_launched(call, gpu_run_any_pool(cuda_stream_of(call), pool_type(x->type), &pool));
}
#endif

#define ROW(op_name)                                                                                                   \
    {                                                                                                                  \
        .domain = "", .op = op_name, .name = "pool_any", .claim = claim_any_pool,                                      \
        .prepare = CUDA_ONLY(prepare_any_pool), .run = CUDA_ONLY(run_any_pool)                                         \
    }

const tort_kernel tort_cuda_pool_any_kernels[] = {
    ROW("MaxPool"), ROW("AveragePool"), ROW("LpPool"), ROW("GlobalLpPool"), {.op = NULL},
};
