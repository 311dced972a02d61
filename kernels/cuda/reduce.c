/* reduce.c - rows and claims of the reductions over axes. Which dimensions are reduced, ops/reduce.h has decoded, for
 * old versions (axes an attribute) and new ones (an input). Kernels: reduce.cu. */
#include "kernels/cuda/reduce.h"

#include "ops/reduce.h"

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static tort_verdict claim_extreme(const tort_target *target, const tort_node_view *node) {
    return node->inputs[0].type == TORT_BOOL ? tort_yes() : tort_cuda_claim_number(target, node);
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

#ifdef CUDA_DEVICE
static void add_dimension(gpu_loop *loop, int64_t dim, int64_t stride) {
    loop->dims[loop->rank] = dim;
    loop->strides[0][loop->rank++] = stride;
}

static gpu_reduce reduce_of(const tort_reduce_params *params) {
    gpu_reduce reduce = {.kept.count = (size_t)params->kept_count, .reduced.count = (size_t)params->reduced_count};
    for (int32_t d = 0; d < params->rank; d++)
        add_dimension(params->reduced[d] ? &reduce.reduced : &reduce.kept, params->dims[d], params->strides[d]);
    reduce.columns = params->rank > 0 && !params->reduced[params->rank - 1];
    return reduce;
}

static tort_status prepare(tort_prepare *p, gpu_reduction kind) {
    return cuda_loaded(p, gpu_load_reduce(kind, gpu_number_of(p->node->inputs[0].type)));
}

static tort_status run(const tort_call *call, gpu_reduction kind) {
    const tort_tensor *x = &call->inputs[0];
    const gpu_reduce reduce = reduce_of(call->params);
    return cuda_launched(call, gpu_run_reduce(cuda_stream_of(call), kind, gpu_number_of(x->type), &reduce, x->data,
                                              call->outputs[0].data));
}

#define RUN(name, kind)                                                                                                \
    static tort_status prepare_##name(tort_prepare *p) {                                                               \
        return prepare(p, kind);                                                                                       \
    }                                                                                                                  \
    static tort_status run_##name(const tort_call *call) {                                                             \
        return run(call, kind);                                                                                        \
    }
RUN(sum, GPU_REDUCE_SUM)
RUN(mean, GPU_REDUCE_MEAN)
RUN(max, GPU_REDUCE_MAX)
RUN(min, GPU_REDUCE_MIN)
RUN(prod, GPU_REDUCE_PROD)
RUN(l1, GPU_REDUCE_L1)
RUN(l2, GPU_REDUCE_L2)
RUN(log_sum, GPU_REDUCE_LOG_SUM)
RUN(log_sum_exp, GPU_REDUCE_LOG_SUM_EXP)
RUN(sum_square, GPU_REDUCE_SUM_SQUARE)
#endif

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* The axes, where they are an input, are read by resolve alone: they stay in host memory. */
#define ROW(op_name, claims, function)                                                                                 \
    {                                                                                                                  \
        .domain = "", .op = op_name, .name = "reduce", .host_inputs = 1u << 1, .claim = claims,                        \
        .prepare = CUDA_ONLY(prepare_##function), .run = CUDA_ONLY(run_##function)                                     \
    }

const tort_kernel tort_cuda_reduce_kernels[] = {
    ROW("ReduceSum", tort_cuda_claim_number, sum),
    ROW("ReduceMean", tort_cuda_claim_number, mean),
    ROW("ReduceMax", claim_extreme, max),
    ROW("ReduceMin", claim_extreme, min),
    ROW("ReduceProd", tort_cuda_claim_number, prod),
    ROW("ReduceL1", tort_cuda_claim_number, l1),
    ROW("ReduceL2", tort_cuda_claim_number, l2),
    ROW("ReduceLogSum", tort_cuda_claim_number, log_sum),
    ROW("ReduceLogSumExp", tort_cuda_claim_number, log_sum_exp),
    ROW("ReduceSumSquare", tort_cuda_claim_number, sum_square),
    {.op = NULL},
};
