/* reduce.c - kernel table and claims of the reductions over axes. ops/reduce.h decodes the reduced dimensions, for
 * old versions (axes as an attribute) and new ones (as an input). Kernels: reduce.cu. */
#include "kernels/cuda/reduce.h"

#include "ops/reduce.h"

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static tort_verdict claim_extreme(const tort_target *target, const tort_node_view *node) {
    return node->inputs[0].type == TORT_BOOL ? tort_yes() : tort_cuda_claim_number(target, node);
}

/* ---- columns in parts -------------------------------------------------------------------------------------------- */

/* True if the last dimension is kept. */
static bool is_columns(const tort_reduce_params *params) {
    return params->rank > 0 && !params->reduced[params->rank - 1];
}

/* Parts of columns that alone would leave multiprocessors idle: four blocks for each, of at least 128 rows. Only 16-bit
 * and 32-bit floats are read in packs. Example: 4,096 halves by 8,192 rows: 64 blocks of columns in 9 parts. */
static int64_t parts_of(gpu_board board, tort_type type, const tort_reduce_params *params) {
    enum { BLOCKS_EACH = 4, MIN_ROWS = 4 * GPU_REDUCE_SLICES, MAX_PARTS = 32 };
    const int64_t bytes = tort_type_bits(type) / 8;
    if (!is_columns(params) || !tort_type_is_float(type) || bytes > 4 || !params->kept_count) return 1;
    const int64_t blocks = gpu_reduce_blocks(params->kept_count, bytes);
    const int64_t wanted = gpu_pieces(BLOCKS_EACH * (int64_t)board.multiprocessors, blocks);
    const int64_t rows = params->reduced_count / MIN_ROWS, parts = wanted < MAX_PARTS ? wanted : MAX_PARTS;
    if (blocks > GPU_ARRIVALS || rows < 2) return 1;
    return parts < rows ? parts : rows;
}

static tort_status size(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    const tort_reduce_params *params = node->params;
    const tort_type type = node->inputs[0].type;
    (void)error;
    *scratch = gpu_reduce_scratch(params->kept_count, tort_type_bits(type) / 8,
                                  parts_of(tort_cuda_board_of(target), type, params));
    return TORT_OK;
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
    gpu_loop_ready(&reduce.kept);
    gpu_loop_ready(&reduce.reduced);
    reduce.columns = is_columns(params);
    return reduce;
}

/* The variant of a table row is a gpu_reduction. */
static tort_status prepare(tort_prepare *p) {
    const gpu_reduction kind = (gpu_reduction)p->node->kernel->variant;
    return cuda_loaded(p, gpu_load_reduce(kind, gpu_number_of(p->node->inputs[0].type)));
}

static tort_status run(const tort_call *call) {
    const gpu_reduction kind = (gpu_reduction)call->kernel->variant;
    const tort_tensor *x = &call->inputs[0];
    const cuda_stream *stream = call->stream;
    gpu_reduce reduce = reduce_of(call->params);
    reduce.parts = parts_of(stream->device->board, x->type, call->params);
    reduce.joint = (gpu_parts){call->scratch, stream->arrivals};
    return cuda_launched(call, gpu_run_reduce(cuda_stream_of(call), kind, gpu_number_of(x->type), &reduce, x->data,
                                              call->outputs[0].data));
}
#endif

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* host_inputs: only resolve reads the input axes, in host memory. */
#define ROW(op_, claim_, variant_)                                                                                     \
    {                                                                                                                  \
        .domain = "", .op = op_, .name = "reduce", .host_inputs = 1u << 1, .claim = claim_, .size = size,              \
        .prepare = CUDA_ONLY(prepare), .run = CUDA_ONLY(run), .variant = variant_                                      \
    }

const tort_kernel tort_cuda_reduce_kernels[] = {
    ROW("ReduceSum", tort_cuda_claim_number, GPU_REDUCE_SUM),
    ROW("ReduceMean", tort_cuda_claim_number, GPU_REDUCE_MEAN),
    ROW("ReduceMax", claim_extreme, GPU_REDUCE_MAX),
    ROW("ReduceMin", claim_extreme, GPU_REDUCE_MIN),
    ROW("ReduceProd", tort_cuda_claim_number, GPU_REDUCE_PROD),
    ROW("ReduceL1", tort_cuda_claim_number, GPU_REDUCE_L1),
    ROW("ReduceL2", tort_cuda_claim_number, GPU_REDUCE_L2),
    ROW("ReduceLogSum", tort_cuda_claim_number, GPU_REDUCE_LOG_SUM),
    ROW("ReduceLogSumExp", tort_cuda_claim_number, GPU_REDUCE_LOG_SUM_EXP),
    ROW("ReduceSumSquare", tort_cuda_claim_number, GPU_REDUCE_SUM_SQUARE),
    {.op = NULL},
};
