/* matmul_nbits.c - MatMulNBits: A times a constant matrix of 2, 4 or 8 bits per element, quantized in blocks.
 *
 * A is float, float16 or bfloat16; sums are made in double, and rounded once. With accuracy_level 4 the elements of A
 * are rounded to int8 first, block by block, as in ONNX Runtime. Read next: matmul_nbits.h; kernels/cpu's file of that
 * name for the fast form. */
#include "ops/microsoft/matmul_nbits.h"

#include <inttypes.h>
#include <math.h>

#include "ops/index.h"
#include "ops/shapes.h"

/* ---- infer ------------------------------------------------------------------------------------------------------- */

static tort_status read_params(const tort_node_view *node, tort_nbits *p, tort_error *error) {
    const int64_t bits = tort_attr_int(node, "bits");
    p->n = tort_attr_int(node, "N");
    p->k = tort_attr_int(node, "K");
    p->block = tort_attr_int(node, "block_size");
    p->type = bits == 2 ? TORT_UINT2 : bits == 4 ? TORT_UINT4 : TORT_UINT8;
    if (bits != 2 && bits != 4 && bits != 8)
        return tort_fail(error, TORT_E_MODEL, "bits is %" PRId64 ", expected 2, 4 or 8", bits);
    if (p->n < 1 || p->k < 1 || p->n > INT32_MAX || p->k > INT32_MAX)
        return tort_fail(error, TORT_E_MODEL, "N is %" PRId64 " and K %" PRId64 ", expected 1 to 2147483647", p->n,
                         p->k);
    if (p->block < 16 || p->block > INT32_MAX || (p->block & (p->block - 1)))
        return tort_fail(error, TORT_E_MODEL, "block_size is %" PRId64 ", expected a power of two from 16 on",
                         p->block);
    if (tort_attr_int(node, "weight_prepacked"))
        return tort_fail(error, TORT_E_UNSUPPORTED,
                         "weight_prepacked is %" PRId64 ": B is in an order that only CUDA kernels of ONNX Runtime "
                         "read; export the model with weight_prepacked 0",
                         tort_attr_int(node, "weight_prepacked"));
    p->blocks = (p->k + p->block - 1) / p->block;
    return TORT_OK;
}

/* Checks that input i has `rows` times `columns` elements, as a matrix or as a list. */
static tort_status check_matrix(const tort_infer *infer, int32_t i, const char *name, int64_t rows, int64_t columns) {
    const tort_info *info = &infer->node->inputs[i];
    if (!tort_has_input(infer->node, i) || !tort_shape_known(info)) return TORT_OK;
    if (tort_extent(info->dims, 0, info->rank) == rows * columns) return TORT_OK;
    return tort_fail(infer->error, TORT_E_MODEL, "%s has %" PRId64 " elements, expected %" PRId64 " times %" PRId64,
                     name, tort_extent(info->dims, 0, info->rank), rows, columns);
}

static tort_status check_inputs(const tort_infer *infer, const tort_nbits *p) {
    const tort_node_view *node = infer->node;
    const int64_t bits = tort_type_bits(p->type);
    const bool packed = node->input_count > TORT_NBITS_ZEROS && node->inputs[TORT_NBITS_ZEROS].type == TORT_UINT8;
    tort_status status = check_matrix(infer, TORT_NBITS_B, "B", p->n, p->blocks * (p->block * bits / 8));
    if (status == TORT_OK) status = check_matrix(infer, TORT_NBITS_SCALES, "scales", p->n, p->blocks);
    if (status == TORT_OK)
        status =
            check_matrix(infer, TORT_NBITS_ZEROS, "zero_points", p->n, packed ? (p->blocks * bits + 7) / 8 : p->blocks);
    if (status == TORT_OK) status = check_matrix(infer, TORT_NBITS_BIAS, "bias", 1, p->n);
    if (status != TORT_OK || !tort_has_input(node, TORT_NBITS_GROUPS)) return status;
    const int64_t groups = tort_known_dim(&node->inputs[TORT_NBITS_GROUPS], 0);
    if (groups < 0 || groups == p->k || groups == p->blocks * p->block) return TORT_OK;
    return tort_fail(infer->error, TORT_E_MODEL, "g_idx has %" PRId64 " elements, expected K, %" PRId64, groups, p->k);
}

static tort_status infer_nbits(tort_infer *infer) {
    const tort_info *a = &infer->node->inputs[TORT_NBITS_A];
    tort_nbits p;
    infer->outputs[0].type = a->type;
    tort_status status = read_params(infer->node, &p, infer->error);
    if (status == TORT_OK) status = check_inputs(infer, &p);
    if (status != TORT_OK || a->rank < 0) return status;
    if (a->rank == 0) return tort_fail(infer->error, TORT_E_MODEL, "A is a scalar, expected rank 1 or more");
    const int64_t columns = tort_known_dim(a, a->rank - 1);
    if (columns >= 0 && columns != p.k)
        return tort_fail(infer->error, TORT_E_MODEL, "A has %" PRId64 " columns, expected K, %" PRId64, columns, p.k);
    tort_dim dims[TORT_MAX_RANK];
    memcpy(dims, a->dims, sizeof dims);
    dims[a->rank - 1] = p.n;
    tort_infer_shape(infer, 0, a->type, a->rank, dims);
    return TORT_OK;
}

/* ---- resolve ----------------------------------------------------------------------------------------------------- */

/* True if A is rounded to int8: at accuracy_level 4, where ONNX Runtime has a kernel for it, not for 2 bits in blocks
 * of 16. */
static bool quantizes_a(const tort_node_view *node, const tort_nbits *p) {
    const bool floats = p->zeros_type != TORT_UNDEFINED && p->zeros_type != TORT_UINT8;
    return node->inputs[TORT_NBITS_A].type == TORT_FLOAT && tort_attr_int(node, "accuracy_level") == 4 && !p->grouped &&
           !floats && !(p->type == TORT_UINT2 && p->block == 16);
}

/* Scratch: A as floats. */
static tort_status resolve_nbits(tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    const tort_info *a = &node->inputs[TORT_NBITS_A];
    tort_nbits *p = resolve->params;
    tort_status status = read_params(node, p, resolve->error);
    if (status != TORT_OK) return status;
    p->zeros_type = tort_has_input(node, TORT_NBITS_ZEROS) ? node->inputs[TORT_NBITS_ZEROS].type : TORT_UNDEFINED;
    p->grouped = tort_has_input(node, TORT_NBITS_GROUPS);
    p->quantizes_a = quantizes_a(node, p);
    p->m = tort_shape_known(a) ? tort_extent(a->dims, 0, a->rank - 1) : -1;
    size_t elements;
    if (p->m < 0) return TORT_OK;
    if (tort_mul_size((uint64_t)p->m, (uint64_t)p->k, &elements) &&
        tort_mul_size(elements, sizeof(float), &resolve->scratch_bytes))
        return TORT_OK;
    return tort_out_of_memory(resolve->error, SIZE_MAX);
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

float tort_nbits_zero(const tort_nbits *p, const void *zeros, int64_t j, int64_t block) {
    const int32_t bits = (int32_t)tort_type_bits(p->type);
    float zero = (float)(1 << (bits - 1));
    if (!zeros) return zero;
    if (p->zeros_type == TORT_UINT8) {
        const int64_t row = (p->blocks * bits + 7) / 8 * 8 / bits; /* numbers of a column, padded to whole bytes */
        tort_load_floats(p->type, zeros, j * row + block, 1, &zero);
    } else {
        tort_load_floats(p->zeros_type, zeros, j * p->blocks + block, 1, &zero);
    }
    return zero;
}

float tort_nbits_scale_of(const float *a, int64_t count) {
    float largest = 0;
    for (int64_t i = 0; i < count; i++) largest = fabsf(a[i]) > largest ? fabsf(a[i]) : largest;
    return largest / 127;
}

void tort_nbits_load_a(const tort_call *call, float *out) {
    const tort_tensor *a = &call->inputs[TORT_NBITS_A];
    const int64_t count = tort_count(a);
    for (int64_t at = 0; at < count && tort_row_goes_on(call->watch, at); at += TORT_PART)
        tort_load_floats(a->type, a->data, at, tort_part_count(count, at), out + at);
}

/* ---- reference --------------------------------------------------------------------------------------------------- */

enum { ROWS = 16 }; /* rows of A at a time, so that numbers of B are unpacked once for all of them */

typedef struct nbits_job {
    const tort_call *call;
    const tort_nbits *params;
    float *a;
} nbits_job;

/* Dequantizes elements first .. first+count-1 of column j of B; at most TORT_BLOCK. */
static void dequantize(const nbits_job *job, int64_t j, int64_t first, int64_t count, double *b) {
    const tort_nbits *p = job->params;
    const tort_tensor *in = job->call->inputs, *zeros = tort_call_input(job->call, TORT_NBITS_ZEROS);
    const tort_tensor *groups = tort_call_input(job->call, TORT_NBITS_GROUPS);
    float numbers[TORT_BLOCK], scale = 0, zero = 0;
    int64_t at = -1;
    tort_nbits_load(p, in[TORT_NBITS_B].data, j, first, count, numbers);
    for (int64_t i = 0; i < count; i++) {
        const int64_t block = groups ? tort_index_wrapped(groups, first + i, p->blocks) : (first + i) / p->block;
        if (block != at) {
            tort_load_floats(in[TORT_NBITS_SCALES].type, in[TORT_NBITS_SCALES].data, j * p->blocks + block, 1, &scale);
            zero = tort_nbits_zero(p, zeros ? zeros->data : NULL, j, block);
            at = block;
        }
        b[i] = ((double)numbers[i] - (double)zero) * (double)scale;
    }
}

/* Computes column j of Y for rows first .. first+count-1, at most ROWS. `done`: see tort_work_goes_on. False: the run
 * is over. */
static bool multiply_column(const nbits_job *job, int64_t j, int64_t first, int64_t count, int64_t *done) {
    const tort_nbits *p = job->params;
    const tort_tensor *bias = tort_call_input(job->call, TORT_NBITS_BIAS), *y = &job->call->outputs[0];
    double sums[ROWS] = {0}, b[TORT_BLOCK], a[TORT_BLOCK];
    for (int64_t k = 0; k < p->k; k += TORT_BLOCK) {
        const int64_t depth = tort_block_count(p->k, k);
        if (!tort_work_goes_on(job->call->watch, done, (count + 1) * depth)) return false;
        dequantize(job, j, k, depth, b);
        for (int64_t i = 0; i < count; i++) {
            const float *row = job->a + (first + i) * p->k + k;
            for (int64_t x = 0; x < depth; x++) a[x] = (double)row[x];
            sums[i] += tort_dot(a, b, depth);
        }
    }
    for (int64_t i = 0; i < count; i++) {
        if (bias) sums[i] += tort_element_at(bias, j);
        tort_store_doubles(y->type, y->data, (first + i) * p->n + j, 1, &sums[i]);
    }
    return true;
}

static void multiply_columns(void *arg, int64_t begin, int64_t end) {
    const nbits_job *job = arg;
    const int64_t m = job->params->m;
    int64_t done = 0;
    for (int64_t j = begin; j < end; j++)
        for (int64_t first = 0; first < m; first += ROWS)
            if (!multiply_column(job, j, first, m - first < ROWS ? m - first : ROWS, &done)) return;
}

/* Rounds each block of a row of A to the steps of int8. */
static void round_rows(void *arg, int64_t begin, int64_t end) {
    const nbits_job *job = arg;
    const tort_nbits *p = job->params;
    int64_t done = 0;
    for (int64_t row = begin; row < end; row++)
        for (int64_t first = 0; first < p->k; first += p->block) {
            const int64_t count = p->k - first < p->block ? p->k - first : p->block;
            if (!tort_work_goes_on(job->call->watch, &done, count)) return;
            float *a = job->a + row * p->k + first;
            const float scale = tort_nbits_scale_of(a, count), inverse = scale > 0 ? 1 / scale : 0;
            for (int64_t i = 0; i < count; i++) a[i] = rintf(a[i] * inverse) * scale;
        }
}

static tort_status check_groups(const tort_call *call) {
    const tort_nbits *p = call->params;
    const tort_tensor *groups = tort_call_input(call, TORT_NBITS_GROUPS);
    for (int64_t i = 0; groups && i < p->k; i++) {
        const int64_t group = tort_index_at(groups, i);
        if (!tort_row_goes_on(call->watch, i)) return tort_run_is_over(call->error);
        if (group < 0 || group >= p->blocks)
            return tort_fail(call->error, TORT_E_RUN, "g_idx[%" PRId64 "] is %" PRId64 ", expected 0 to %" PRId64, i,
                             group, p->blocks - 1);
    }
    return TORT_OK;
}

static tort_status run_nbits(const tort_call *call) {
    const tort_nbits *p = call->params;
    nbits_job job = {.call = call, .params = p, .a = call->scratch};
    tort_status status = check_groups(call);
    if (status != TORT_OK || p->m == 0) return status;
    tort_nbits_load_a(call, job.a);
    if (p->quantizes_a) tort_parallel(call, p->m, 2 * p->k, round_rows, &job);
    tort_parallel(call, p->n, p->m * p->k, multiply_columns, &job);
    return TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

const tort_op tort_ops_matmul_nbits[] = {
    {"com.microsoft", "MatMulNBits", 1, 1, "A:T1 B:T2 scales:T1 zero_points?:T3 g_idx?:T4 bias?:T1", "Y:T1",
     "T1=floats13|-double T2=uint8 T3=uint8|floats13|-double T4=int32",
     "K:int! N:int! bits:int=4 block_size:int! accuracy_level:int=0 weight_prepacked:int=0",
     .params_size = sizeof(tort_nbits), infer_nbits, resolve_nbits, run_nbits},
    {0},
};
