/* integer_matmul.c - rows and claims of MatMulInteger, QLinearMatMul, QGemm, MatMulIntegerToFloat and
 * DynamicQuantizeMatMul: products of 8-bit matrices on tensor cores, with exact sums. Kernels: integer_matmul.cu; read
 * first: integer.h.
 *
 * A constant B is packed when the session is made, another one in each run. Each operator has two rows: the first for a
 * B whose zero point is known to be 0 (128 of uint8), the second for any, which sums the rows of A too. */
#include "kernels/cuda/integer_matmul.h"

#include <limits.h>
#include <string.h>

#include "kernels/cuda/quantize.h"
#include "ops/extent.h"
#include "ops/integer_matmul.h"
#include "ops/microsoft/qattention.h"
#include "ops/microsoft/qgemm.h"
#include "runtime/core/base/memory.h"

enum { ANY_ZERO = 1, GEMM = 2 }; /* bits of the rows' variants: the second rows; QGemm */

static const tort_integer_inputs *inputs_of(const tort_op *op) {
    static const tort_integer_inputs gemm = {
        TORT_QGEMM_A,      TORT_QGEMM_A_SCALE, TORT_QGEMM_A_ZERO, TORT_QGEMM_B, TORT_QGEMM_B_SCALE,
        TORT_QGEMM_B_ZERO, TORT_QGEMM_Y_SCALE, TORT_QGEMM_Y_ZERO, TORT_QGEMM_C, false};
    if (op->params_size == sizeof(tort_qattention)) return &tort_qattention_product;
    return op->params_size == sizeof(tort_qgemm) ? &gemm : tort_integer_inputs_of(op);
}

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

static tort_verdict claim_scale(const tort_node_view *node, int32_t input) {
    if (input < 0 || !tort_has_input(node, input)) return tort_yes();
    const tort_type type = node->inputs[input].type;
    return type == TORT_FLOAT || type == TORT_FLOAT16 ? claim_list(node, input)
                                                      : tort_cuda_no_type(node, input, "float and float16");
}

tort_verdict tort_cuda_claim_byte_sums(int64_t products) {
    if (products <= GPU_BYTE_PRODUCTS) return tort_yes();
    return tort_no(TORT_NO_SHAPE, "", "sums of %lld products may exceed 32 bits, %d do not", (long long)products,
                   GPU_BYTE_PRODUCTS);
}

bool tort_cuda_byte_zero(const tort_node_view *node, const tort_integer_inputs *in, int32_t *zero) {
    const bool is_signed = node->inputs[in->b].type == TORT_INT8, given = tort_has_input(node, in->b_zero);
    const tort_info *info = &node->inputs[given ? in->b_zero : in->b];
    *zero = !given ? 0 : is_signed ? (int8_t)info->byte : info->byte;
    if (!is_signed) *zero -= 128;
    return !given || info->uniform;
}

/* Products of a sum; -1: not known. */
static int64_t depth_of(const tort_node_view *node) {
    if (node->kernel->variant & GEMM) return ((const tort_qgemm *)node->params)->k;
    return ((const tort_matmul_params *)node->params)->k;
}

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    const tort_integer_inputs *in = inputs_of(node->op);
    int32_t zero;
    const int32_t lists[] = {in->a_zero, in->b_zero, in->bias}, scales[] = {in->a_scale, in->b_scale, in->y_scale};
    (void)target;
    tort_verdict verdict = in->dynamic ? tort_yes() : claim_bytes(node, in->a);
    if (verdict.code == TORT_YES) verdict = claim_bytes(node, in->b);
    if (verdict.code == TORT_YES && in->y_zero >= 0 && tort_has_input(node, in->y_zero))
        verdict = claim_bytes(node, in->y_zero); /* the type of the output */
    for (int32_t i = 0; i < 3 && verdict.code == TORT_YES; i++) verdict = claim_list(node, lists[i]);
    for (int32_t i = 0; i < 3 && verdict.code == TORT_YES; i++) verdict = claim_scale(node, scales[i]);
    if (verdict.code != TORT_YES) return verdict;
    if (in->b_scale >= 0) verdict = tort_cuda_claim_byte_sums(depth_of(node));
    if (verdict.code != TORT_YES || node->kernel->variant & ANY_ZERO) return verdict;
    if (tort_cuda_byte_zero(node, in, &zero) && !zero) return verdict;
    return tort_no(TORT_NO_ATTR, "", "is for a B whose zero point is known to be 0, or 128 of uint8");
}

/* Claim of QGemm, whose B may be stored by columns. */
static tort_verdict claim_gemm(const tort_target *target, const tort_node_view *node) {
    const tort_qgemm *p = node->params;
    if (p->a_k_stride != 1) return tort_no(TORT_NO_ATTR, "transA", "takes an A of rows");
    if (p->alpha != 1.0f) return tort_no(TORT_NO_ATTR, "alpha", "takes an alpha of 1");
    if (p->c_row_stride) return tort_no(TORT_NO_SHAPE, "", "C has numbers for each row, the kernel takes one a column");
    return claim(target, node);
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
static gpu_integer_matmul product_of(const tort_kernel *row, const void *any, bool listed) {
    const tort_matmul_params *params = any;
    const tort_qgemm *gemm = any;
    gpu_integer_matmul p = {.batches = 1};
    if (row->variant & GEMM) {
        p.m = gemm->m, p.n = gemm->n, p.k = gemm->k;
    } else {
        const int64_t matrix = params->n > 0 && params->k > 0 ? params->n * params->k : 1;
        p.m = params->m, p.n = params->n, p.k = params->k, p.batches = params->batches;
        p.batch_rank = params->batch_rank;
        memcpy(p.batch_dims, params->batch_dims, sizeof p.batch_dims);
        memcpy(p.a_batch, params->a_strides, sizeof p.a_batch);
        for (int32_t i = 0; i < p.batch_rank; i++) p.b_batch[i] = params->b_strides[i] / matrix;
        if (!listed) join_batch(&p);
    }
    p.line = gpu_byte_line(p.k);
    p.matrix = gpu_byte_matrix(p.n, p.k);
    return p;
}

static bool is_list(int32_t rank, const int64_t *dims) {
    return rank == 1 && dims[0] != 1;
}

static gpu_tiling tiling_of(const gpu_integer_matmul *p, gpu_board board) {
    return tort_cuda_tiling_of(board, GPU_MMA_BYTES, p->m, p->n, p->k, p->batches);
}

/* Scratch memory: the scale and bytes of an A that is quantized, sums of the rows of A, B packed, sums of the parts,
 * each from a multiple of 256 on. */
typedef struct scratch_places {
    size_t a, rows, packed, parts, end;
} scratch_places;

/* quantized: bytes of such an A, or -1; rows: of A that are summed; matrices: of B that are packed. False if it is
 * beyond size_t. */
static bool place_scratch(const gpu_integer_matmul *p, const gpu_tiling *tiling, int64_t quantized, int64_t rows,
                          int64_t matrices, scratch_places *at) {
    size_t bytes;
    return tort_align_size(quantized < 0 ? 0 : sizeof(gpu_byte_scale), TORT_DEVICE_ALIGN, &at->a) &&
           tort_add_size(at->a, quantized < 0 ? 0 : (uint64_t)quantized, &at->rows) &&
           tort_align_size(at->rows, TORT_DEVICE_ALIGN, &at->rows) &&
           tort_mul_size((uint64_t)rows, sizeof(int32_t), &bytes) && tort_add_size(at->rows, bytes, &at->packed) &&
           tort_align_size(at->packed, TORT_DEVICE_ALIGN, &at->packed) &&
           tort_mul_size((uint64_t)matrices, (uint64_t)p->matrix, &bytes) &&
           tort_add_size(at->packed, bytes, &at->parts) && tort_align_size(at->parts, TORT_DEVICE_ALIGN, &at->parts) &&
           tort_add_size(at->parts, tiling->scratch, &at->end);
}

static int64_t quotient(int64_t count, int64_t by) {
    return by > 0 ? count / by : 0;
}

static tort_status size(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    const tort_integer_inputs *in = inputs_of(node->op);
    const tort_info *a = &node->inputs[in->a], *b = &node->inputs[in->b];
    bool listed = false;
    for (int32_t i = 0; i < node->input_count; i++)
        if (i == in->a_zero || i == in->a_scale) listed = listed || is_list(node->inputs[i].rank, node->inputs[i].dims);
    const gpu_integer_matmul p = product_of(node->kernel, node->params, listed);
    const gpu_tiling tiling = tiling_of(&p, tort_cuda_board_of(target));
    const bool sums = node->kernel->variant & ANY_ZERO;
    const int64_t elements = tort_extent(a->dims, 0, a->rank), rows = sums ? quotient(elements, p.k) : 0,
                  matrices = b->constant ? 0 : quotient(tort_extent(b->dims, 0, b->rank), p.n * p.k);
    scratch_places at;
    if (in->b_scale >= 0 && p.k > GPU_BYTE_PRODUCTS)
        return tort_fail(error, TORT_E_UNSUPPORTED, "sums of %lld products may exceed 32 bits: pin the node to cpu",
                         (long long)p.k);
    if (!place_scratch(&p, &tiling, in->dynamic ? elements : -1, rows, matrices, &at))
        return tort_out_of_memory(error, SIZE_MAX);
    *scratch = at.end;
    return TORT_OK;
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

static bool is_by_columns(const tort_kernel *row, const void *params) {
    return row->variant & GEMM && ((const tort_qgemm *)params)->trans_b;
}

/* Columns and rows of B. */
static void size_of_b(const tort_node_view *node, int64_t *n, int64_t *k) {
    const tort_info *b = &node->inputs[inputs_of(node->op)->b];
    const bool by_columns = is_by_columns(node->kernel, node->params);
    const int64_t last = b->rank > 1 ? b->dims[b->rank - 1] : 1, other = b->dims[b->rank > 1 ? b->rank - 2 : 0];
    *n = by_columns ? other : last;
    *k = by_columns ? last : other;
}

tort_status tort_cuda_pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes,
                                uint32_t *consumed, tort_error *error) {
    const tort_integer_inputs *in = inputs_of(node->op);
    const tort_info *b = &node->inputs[in->b];
    int64_t n, k;
    size_of_b(node, &n, &k);
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
    const tort_integer_inputs *in = inputs_of(p->node->op);
    const tort_status status = in->dynamic ? tort_cuda_prepare_dynamic(p) : TORT_OK;
    return status ? status : cuda_loaded(p, gpu_load_integer_matmul(p->node->inputs[in->a].type == TORT_INT8));
}

/* Writes a packed matrix of one that is stored by rows, or by columns. */
static void pack_matrix(const uint8_t *from, bool by_columns, bool is_signed, int64_t n, int64_t k, int8_t *lines,
                        int32_t *sums) {
    const uint8_t flip = is_signed ? 0 : 128;
    for (int64_t column = 0; column < n; column++) {
        int8_t *line = lines + column * gpu_byte_line(k);
        sums[column] = 0;
        for (int64_t i = 0; i < k; i++) {
            line[i] = (int8_t)(from[by_columns ? column * k + i : i * n + column] ^ flip);
            sums[column] += line[i];
        }
    }
}

tort_status tort_cuda_pack(tort_prepare *p) {
    const tort_integer_inputs *in = inputs_of(p->node->op);
    const tort_info *b = &p->node->inputs[in->b];
    const bool by_columns = is_by_columns(p->node->kernel, p->node->params);
    int64_t n, k;
    size_of_b(p->node, &n, &k);
    const int64_t matrices = quotient(tort_extent(b->dims, 0, b->rank), n * k), bytes = gpu_byte_matrix(n, k);
    const size_t all = (size_t)(matrices * bytes);
    if (!p->packed || !all) return TORT_OK;
    int8_t *packed = tort_alloc_zero(p->env, all, 1);
    if (!packed) return tort_out_of_memory(p->error, all);
    for (int64_t i = 0; i < matrices; i++) {
        int8_t *lines = packed + i * bytes;
        pack_matrix((const uint8_t *)b->data + i * n * k, by_columns, b->type == TORT_INT8, n, k, lines,
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

gpu_sums tort_cuda_sums_of(const tort_call *call, const tort_integer_inputs *in) {
    const tort_type type = call->outputs[0].type,
                    bias = in->bias < call->input_count && in->bias >= 0 ? call->inputs[in->bias].type : TORT_UNDEFINED;
    return (gpu_sums){.as = in->b_scale < 0        ? GPU_SUMS_INT32
                            : type == TORT_FLOAT   ? GPU_SUMS_FLOAT
                            : type == TORT_FLOAT16 ? GPU_SUMS_HALF
                                                   : GPU_SUMS_BYTES,
                      .a_signed = call->inputs[in->a].type == TORT_INT8,
                      .b_signed = call->inputs[in->b].type == TORT_INT8,
                      .y_signed = type == TORT_INT8,
                      .bias_in_sums = bias == TORT_INT32,
                      .half_scales = in->b_scale >= 0 && call->inputs[in->b_scale].type == TORT_FLOAT16,
                      .a_zero = numbers_of(call, in->a_zero),
                      .a_scale = numbers_of(call, in->a_scale),
                      .b_zero = numbers_of(call, in->b_zero),
                      .b_scale = numbers_of(call, in->b_scale),
                      .bias = numbers_of(call, in->bias),
                      .y_scale = numbers_of(call, in->y_scale).at,
                      .y_zero = numbers_of(call, in->y_zero).at};
}

/* Quantizes an A of floats into scratch memory. */
static tort_status quantize(const tort_call *call, const tort_tensor *a, const scratch_places *at, gpu_sums *sums) {
    gpu_byte_scale *scale = call->scratch;
    sums->a_scale = (gpu_numbers){&scale->scale, 0};
    sums->a_zero = (gpu_numbers){&scale->zero, 0};
    return tort_cuda_quantize_dynamically(call, a, scale, &scale->scale, &scale->zero,
                                          tort_count(a) ? (char *)call->scratch + at->a : NULL);
}

static tort_status run(const tort_call *call) {
    const tort_integer_inputs *in = inputs_of(call->op);
    const tort_tensor *a = &call->inputs[in->a], *b = &call->inputs[in->b];
    const cuda_stream *stream = call->stream;
    gpu_sums sums = tort_cuda_sums_of(call, in);
    gpu_integer_matmul p = product_of(call->kernel, call->params, sums.a_zero.step || sums.a_scale.step);
    const gpu_tiling tiling = tiling_of(&p, stream->device->board);
    const int64_t rows = call->kernel->variant & ANY_ZERO ? quotient(tort_count(a), p.k) : 0,
                  matrices = call->packed ? 0 : quotient(tort_count(b), p.n * p.k);
    scratch_places at;
    (void)place_scratch(&p, &tiling, in->dynamic ? tort_count(a) : -1, rows, matrices, &at); /* `size` has checked it */
    char *scratch = call->scratch;
    const gpu_parts parts = {(float *)(void *)(scratch + at.parts), stream->arrivals};
    const gpu_byte_operands o = {in->dynamic ? scratch + at.a : a->data,
                                 call->packed ? call->packed : scratch + at.packed, call->outputs[0].data};
    const tort_status status = in->dynamic ? quantize(call, a, &at, &sums) : TORT_OK;
    cudaError_t code = cudaSuccess;
    if (status) return status;
    p.sums = sums;
    p.sums.k = p.k;
    if (rows) {
        int32_t *row_sums = (int32_t *)(void *)(scratch + at.rows);
        p.sums.row_sums = row_sums;
        code = gpu_sum_byte_rows(cuda_stream_of(call), o.a, sums.a_signed, rows, p.k, row_sums);
    }
    if (code == cudaSuccess && !call->packed)
        code = gpu_pack_bytes(cuda_stream_of(call), b->data, is_by_columns(call->kernel, call->params), sums.b_signed,
                              matrices, p.n, p.k, scratch + at.packed);
    if (code == cudaSuccess) code = gpu_run_integer_matmul(cuda_stream_of(call), &p, &o, &tiling, &parts);
    return cuda_launched(call, code);
}
#endif

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define ROW(domain_, op_, name_, variant_, claim_)                                                                     \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = name_, .variant = variant_, .claim = claim_, .size = size,               \
        .pack.size = tort_cuda_pack_size, .pack.ready = CUDA_ONLY(ready), .prepare = CUDA_ONLY(tort_cuda_pack),        \
        .run = CUDA_ONLY(run)                                                                                          \
    }
#define ROWS(domain_, op_)                                                                                             \
    ROW(domain_, op_, "integer_matmul", 0, claim), ROW(domain_, op_, "integer_matmul_shifted", ANY_ZERO, claim)

const tort_kernel tort_cuda_integer_matmul_kernels[] = {
    ROWS("", "MatMulInteger"),
    ROWS("", "QLinearMatMul"),
    ROWS("tinyort", "QLinearMatMul"),
    ROWS("com.microsoft", "MatMulIntegerToFloat"),
    ROWS("com.microsoft", "DynamicQuantizeMatMul"),
    ROW("com.microsoft", "QGemm", "integer_gemm", GEMM, claim_gemm),
    ROW("com.microsoft", "QGemm", "integer_gemm_shifted", GEMM | ANY_ZERO, claim_gemm),
    {.op = NULL},
};
