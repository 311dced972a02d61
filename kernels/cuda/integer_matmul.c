/* integer_matmul.c - rows and claims of MatMulInteger, QLinearMatMul and MatMulIntegerToFloat: products of 8-bit
 * matrices on tensor cores, with exact sums. Kernels: integer_matmul.cu; read first: integer.h.
 *
 * A constant B is packed when the session is made, another one in each run. Each operator has two rows: the first for a
 * B whose zero point is known to be 0 (128 of uint8), the second for any, which sums the rows of A too. */
#include "kernels/cuda/integer_matmul.h"

#include <limits.h>
#include <string.h>

#include "ops/extent.h"
#include "ops/integer_matmul.h"
#include "runtime/core/base/memory.h"

enum { ANY_ZERO = 1 }; /* variant of the second rows */

/* The sum of more products could exceed 32 bits: 255 * 255 * 33025. */
enum { MAX_PRODUCTS = 33025 };

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static tort_verdict claim_bytes(const tort_node_view *node, int32_t input) {
    const tort_type type = node->inputs[input].type;
    return type == TORT_INT8 || type == TORT_UINT8 ? tort_yes() : tort_cuda_no_type(node, input, "int8 and uint8");
}

/* Accepts one number, or a list of them. */
static tort_verdict claim_list(const tort_node_view *node, int32_t input) {
    if (input < 0 || !tort_has_input(node, input)) return tort_yes();
    const tort_info *numbers = &node->inputs[input];
    if (numbers->rank < 0) return tort_no(TORT_NO_DYNAMIC, "", "the rank of input %d is not known", input);
    for (int32_t d = 0; numbers->rank > 1 && d < numbers->rank; d++)
        if (numbers->dims[d] != 1)
            return tort_no(TORT_NO_SHAPE, "", "input %d has numbers for each matrix of a batch, the kernel takes lists",
                           input);
    return tort_yes();
}

/* Accepts scales of float, or of float16 where the output is. */
static tort_verdict claim_scale(const tort_node_view *node, int32_t input) {
    if (input < 0 || node->inputs[input].type == TORT_FLOAT) return claim_list(node, input);
    if (node->inputs[input].type == TORT_FLOAT16 && node->outputs[0].type == TORT_FLOAT16)
        return claim_list(node, input);
    return tort_cuda_no_type(node, input, "float");
}

static bool zero_is_known(const tort_node_view *node, const tort_integer_inputs *in) {
    const bool is_signed = node->inputs[in->b].type == TORT_INT8;
    if (in->b_zero < 0 || !tort_has_input(node, in->b_zero)) return is_signed;
    const tort_info *zero = &node->inputs[in->b_zero];
    return zero->uniform && zero->byte == (is_signed ? 0 : 128);
}

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    const tort_integer_inputs *in = tort_integer_inputs_of(node->op);
    const tort_matmul_params *params = node->params;
    const int32_t lists[] = {in->a_zero, in->b_zero, in->bias}, scales[] = {in->a_scale, in->b_scale, in->y_scale};
    (void)target;
    tort_verdict verdict = claim_bytes(node, in->a);
    if (verdict.code == TORT_YES) verdict = claim_bytes(node, in->b);
    for (int32_t i = 0; i < 3 && verdict.code == TORT_YES; i++) verdict = claim_list(node, lists[i]);
    for (int32_t i = 0; i < 3 && verdict.code == TORT_YES; i++) verdict = claim_scale(node, scales[i]);
    if (verdict.code != TORT_YES) return verdict;
    if (in->a_scale >= 0 && params->k > MAX_PRODUCTS)
        return tort_no(TORT_NO_SHAPE, "", "sums of %lld products may exceed 32 bits, %d do not", (long long)params->k,
                       MAX_PRODUCTS);
    if (node->kernel->variant == ANY_ZERO || zero_is_known(node, in)) return tort_yes();
    return tort_no(TORT_NO_ATTR, "", "is for a B whose zero point is known to be 0, or 128 of uint8");
}

/* ---- the product ------------------------------------------------------------------------------------------------- */

/* Joins a batch of A with one B to a product of all rows, which lie one after another. */
static void join_batch(gpu_integer_matmul *p) {
    bool one = p->batches > 0;
    for (int32_t i = 0; i < p->batch_rank; i++)
        one = one && (p->batch_dims[i] == 1 || (p->b_batch[i] == 0 && p->a_batch[i] != 0));
    if (!one || p->m > INT_MAX / p->batches) return;
    p->m *= p->batches;
    p->batches = 1;
    p->batch_rank = 0;
}

/* listed: rows of A have a zero point or scale each, so batches of them cannot be joined. */
static gpu_integer_matmul product_of(const tort_matmul_params *params, bool listed) {
    gpu_integer_matmul p = {.m = params->m,
                            .n = params->n,
                            .k = params->k,
                            .batches = params->batches,
                            .line = gpu_byte_line(params->k),
                            .matrix = gpu_byte_matrix(params->n, params->k),
                            .batch_rank = params->batch_rank,
                            .sums.k = params->k};
    const int64_t matrix = params->n > 0 && params->k > 0 ? params->n * params->k : 1;
    memcpy(p.batch_dims, params->batch_dims, sizeof p.batch_dims);
    memcpy(p.a_batch, params->a_strides, sizeof p.a_batch);
    for (int32_t i = 0; i < p.batch_rank; i++) p.b_batch[i] = params->b_strides[i] / matrix;
    if (!listed) join_batch(&p);
    return p;
}

static bool is_list(int32_t rank, const int64_t *dims) {
    return rank == 1 && dims[0] != 1;
}

static gpu_tiling tiling_of(const gpu_integer_matmul *p, gpu_board board) {
    return tort_cuda_tiling_of(board, GPU_MMA_BYTES, p->m, p->n, p->k, p->batches);
}

/* Scratch memory: sums of the rows of A, then B packed, then sums of the parts, each from a multiple of 256 on. */
typedef struct scratch_places {
    size_t packed, parts, end;
} scratch_places;

/* rows: of A that are summed; matrices: of B that are packed. False if it is beyond size_t. */
static bool place_scratch(const gpu_integer_matmul *p, const gpu_tiling *tiling, int64_t rows, int64_t matrices,
                          scratch_places *at) {
    size_t bytes;
    return tort_mul_size((uint64_t)rows, sizeof(int32_t), &at->packed) &&
           tort_align_size(at->packed, TORT_DEVICE_ALIGN, &at->packed) &&
           tort_mul_size((uint64_t)matrices, (uint64_t)gpu_byte_matrix(p->n, p->k), &bytes) &&
           tort_add_size(at->packed, bytes, &at->parts) && tort_align_size(at->parts, TORT_DEVICE_ALIGN, &at->parts) &&
           tort_add_size(at->parts, tiling->scratch, &at->end);
}

static int64_t quotient(int64_t count, int64_t by) {
    return by > 0 ? count / by : 0;
}

static tort_status size(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    const tort_integer_inputs *in = tort_integer_inputs_of(node->op);
    const tort_info *a = &node->inputs[in->a], *b = &node->inputs[in->b];
    bool listed = false;
    for (int32_t i = 0; i < node->input_count; i++)
        if (i == in->a_zero || i == in->a_scale) listed = listed || is_list(node->inputs[i].rank, node->inputs[i].dims);
    const gpu_integer_matmul p = product_of(node->params, listed);
    const gpu_tiling tiling = tiling_of(&p, tort_cuda_board_of(target));
    const bool sums = node->kernel->variant == ANY_ZERO;
    const int64_t rows = sums ? quotient(tort_extent(a->dims, 0, a->rank), p.k) : 0,
                  matrices = b->constant ? 0 : quotient(tort_extent(b->dims, 0, b->rank), p.n * p.k);
    scratch_places at;
    if (in->a_scale >= 0 && p.k > MAX_PRODUCTS)
        return tort_fail(error, TORT_E_UNSUPPORTED, "sums of %lld products may exceed 32 bits: pin the node to cpu",
                         (long long)p.k);
    if (!place_scratch(&p, &tiling, rows, matrices, &at)) return tort_out_of_memory(error, SIZE_MAX);
    *scratch = at.end;
    return TORT_OK;
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

static tort_status pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                             tort_error *error) {
    const tort_integer_inputs *in = tort_integer_inputs_of(node->op);
    const tort_info *b = &node->inputs[in->b];
    const int64_t n = b->rank > 1 ? b->dims[b->rank - 1] : 1, k = b->dims[b->rank > 1 ? b->rank - 2 : 0];
    (void)target;
    *bytes = 0;
    if (!b->constant) return TORT_OK;
    *consumed = 1u << in->b;
    return tort_mul_size((uint64_t)quotient(tort_extent(b->dims, 0, b->rank), n * k), (uint64_t)gpu_byte_matrix(n, k),
                         bytes)
               ? TORT_OK
               : tort_out_of_memory(error, SIZE_MAX);
}

#ifdef CUDA_DEVICE
static tort_status ready(tort_prepare *p) {
    const tort_integer_inputs *in = tort_integer_inputs_of(p->node->op);
    return cuda_loaded(p, gpu_load_integer_matmul(p->node->inputs[in->a].type == TORT_INT8));
}

/* Writes a packed matrix. */
static void pack_matrix(const uint8_t *from, bool is_signed, int64_t n, int64_t k, int8_t *lines, int32_t *sums) {
    const uint8_t flip = is_signed ? 0 : 128;
    for (int64_t column = 0; column < n; column++) {
        int8_t *line = lines + column * gpu_byte_line(k);
        sums[column] = 0;
        for (int64_t i = 0; i < k; i++) {
            line[i] = (int8_t)(from[i * n + column] ^ flip);
            sums[column] += line[i];
        }
    }
}

static tort_status prepare(tort_prepare *p) {
    const tort_integer_inputs *in = tort_integer_inputs_of(p->node->op);
    const tort_info *b = &p->node->inputs[in->b];
    const int64_t n = b->rank > 1 ? b->dims[b->rank - 1] : 1, k = b->dims[b->rank > 1 ? b->rank - 2 : 0];
    const int64_t matrices = quotient(tort_extent(b->dims, 0, b->rank), n * k), bytes = gpu_byte_matrix(n, k);
    const size_t all = (size_t)(matrices * bytes);
    if (!p->packed || !all) return TORT_OK;
    int8_t *packed = tort_alloc_zero(p->env, all, 1);
    if (!packed) return tort_out_of_memory(p->error, all);
    for (int64_t i = 0; i < matrices; i++) {
        int8_t *lines = packed + i * bytes;
        pack_matrix((const uint8_t *)b->data + i * n * k, b->type == TORT_INT8, n, k, lines,
                    (int32_t *)(void *)(lines + n * gpu_byte_line(k)));
    }
    const tort_status status = cuda_copy(p->device, NULL, p->packed, packed, all, TORT_TO_DEVICE, p->error);
    tort_free(p->env, packed, all);
    return status;
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

static gpu_numbers numbers_of(const tort_call *call, int32_t input) {
    const tort_tensor *numbers = input < 0 ? NULL : tort_call_input(call, input);
    if (!numbers) return (gpu_numbers){.at = NULL};
    return (gpu_numbers){numbers->data, tort_count(numbers) != 1};
}

static gpu_sums sums_of(const tort_call *call, const tort_integer_inputs *in) {
    const tort_type type = call->outputs[0].type;
    return (gpu_sums){.as = in->a_scale < 0        ? GPU_SUMS_INT32
                            : in->y_scale >= 0     ? GPU_SUMS_BYTES
                            : type == TORT_FLOAT16 ? GPU_SUMS_HALF
                                                   : GPU_SUMS_FLOAT,
                      .a_signed = call->inputs[in->a].type == TORT_INT8,
                      .b_signed = call->inputs[in->b].type == TORT_INT8,
                      .y_signed = type == TORT_INT8,
                      .a_zero = numbers_of(call, in->a_zero),
                      .a_scale = numbers_of(call, in->a_scale),
                      .b_zero = numbers_of(call, in->b_zero),
                      .b_scale = numbers_of(call, in->b_scale),
                      .bias = numbers_of(call, in->bias),
                      .y_scale = numbers_of(call, in->y_scale).at,
                      .y_zero = numbers_of(call, in->y_zero).at};
}

static tort_status run(const tort_call *call) {
    const tort_integer_inputs *in = tort_integer_inputs_of(call->op);
    const tort_tensor *a = &call->inputs[in->a], *b = &call->inputs[in->b];
    const cuda_stream *stream = call->stream;
    const gpu_sums sums = sums_of(call, in);
    gpu_integer_matmul p = product_of(call->params, sums.a_zero.step || sums.a_scale.step);
    const gpu_tiling tiling = tiling_of(&p, stream->device->board);
    const int64_t rows = call->kernel->variant == ANY_ZERO ? quotient(tort_count(a), p.k) : 0,
                  matrices = call->packed ? 0 : quotient(tort_count(b), p.n * p.k);
    scratch_places at;
    (void)place_scratch(&p, &tiling, rows, matrices, &at); /* `size` has checked it */
    char *scratch = call->scratch;
    const gpu_parts parts = {(float *)(void *)(scratch + at.parts), stream->arrivals};
    const void *packed = call->packed ? call->packed : scratch + at.packed;
    cudaError_t code = cudaSuccess;
    p.sums = sums;
    p.sums.k = p.k;
    if (rows) {
        p.sums.row_sums = call->scratch;
        code = gpu_sum_byte_rows(cuda_stream_of(call), a->data, sums.a_signed, rows, p.k, call->scratch);
    }
    if (code == cudaSuccess && !call->packed)
        code = gpu_pack_bytes(cuda_stream_of(call), b->data, sums.b_signed, matrices, p.n, p.k, scratch + at.packed);
    if (code == cudaSuccess)
        code =
            gpu_run_integer_matmul(cuda_stream_of(call), &p, a->data, packed, call->outputs[0].data, &tiling, &parts);
    return cuda_launched(call, code);
}
#endif

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define ROW(domain_, op_, name_, variant_)                                                                             \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = name_, .variant = variant_, .claim = claim, .size = size,                \
        .pack.size = pack_size, .pack.ready = CUDA_ONLY(ready), .prepare = CUDA_ONLY(prepare), .run = CUDA_ONLY(run)   \
    }
#define ROWS(domain_, op_) ROW(domain_, op_, "integer_matmul", 0), ROW(domain_, op_, "integer_matmul_shifted", ANY_ZERO)

const tort_kernel tort_cuda_integer_matmul_kernels[] = {
    ROWS("", "MatMulInteger"),
    ROWS("", "QLinearMatMul"),
    ROWS("tinyort", "QLinearMatMul"),
    ROWS("com.microsoft", "MatMulIntegerToFloat"),
    {.op = NULL},
};
