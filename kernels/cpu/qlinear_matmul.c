/* qlinear_matmul.c - QLinearMatMul, MatMulIntegerToFloat and DynamicQuantizeMatMul of 8-bit integers: exact sums by the
 * float product, as in matmul.c, then scales.
 *
 * A constant matrix B is packed ahead, less its zero point; anything else becomes floats in scratch.
 * Read next: packed_gemm.h for why the sums are exact; ops/integer_matmul.h. */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/product.h"
#include "kernels/cpu/quantized.h"
#include "ops/integer_matmul.h"
#include "ops/quantized.h"

static bool is_byte(tort_type type) {
    return type == TORT_INT8 || type == TORT_UINT8;
}

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    for (int32_t i = 0; i < node->input_count && i < 4; i++) {
        const tort_type type = node->inputs[i].type;
        if (tort_type_is_small_float(type) && type != TORT_FLOAT16)
            return tort_no(TORT_NO_TYPE, "", "is for int8 and uint8, an operand is %s", tort_type_name(type));
    }
    return tort_cpu_claim_processor(target);
}

/* ---- B packed ahead ---------------------------------------------------------------------------------------------- */

/* A zero point is absent, one number, or one a column. */
static bool packs_b(const tort_node_view *node, const tort_integer_inputs *in) {
    const tort_info *b = &node->inputs[in->b];
    if (!b->constant || b->rank != 2) return false;
    if (!tort_has_input(node, in->b_zero)) return true;
    const tort_info *zero = &node->inputs[in->b_zero];
    const bool one = zero->rank == 0 || (zero->rank == 1 && (zero->dims[0] == 1 || zero->dims[0] == b->dims[1]));
    return zero->constant && one;
}

static tort_status pack_size_of(const tort_target *target, const tort_node_view *node, const tort_integer_inputs *in,
                                size_t *bytes, uint32_t *consumed, tort_error *error) {
    const tort_info *b = &node->inputs[in->b];
    if (!packs_b(node, in)) return TORT_OK;
    tort_status status = tort_product_pack_size(target, b->dims[1], b->dims[0], bytes, consumed, error);
    *consumed = 1u << in->b;
    return status;
}

static tort_status prepare_of(tort_prepare *prepare, const tort_integer_inputs *in) {
    const tort_cpu_device *device = prepare->device;
    const tort_info *b = &prepare->node->inputs[in->b];
    size_t bytes;
    float *floats;
    if (!prepare->packed) return TORT_OK;
    tort_status status = tort_cpu_widen(prepare, in->b, in->b_zero, 1, &floats, &bytes);
    if (status) return status;
    tort_pack_b(device->simd, prepare->packed, floats, b->dims[1], 1, b->dims[1], b->dims[0], 1);
    tort_free(prepare->env, floats, bytes);
    return TORT_OK;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* The buffers of the product, the sums, the factors of columns, A and B as floats. */
static tort_status size_of(const tort_target *target, const tort_node_view *node, const tort_integer_inputs *in,
                           size_t *scratch, tort_error *error) {
    const tort_info *y = &node->outputs[0];
    const tort_matmul_params *p = node->params;
    size_t operands;
    int64_t count = 1;
    tort_status status = tort_product_size(target, packs_b(node, in), scratch, error);
    if (status) return status;
    for (int32_t d = 0; d < y->rank; d++)
        if (__builtin_mul_overflow(count, y->dims[d], &count)) return tort_out_of_memory(error, SIZE_MAX);
    if (tort_cpu_reserve_floats(scratch, count) && tort_cpu_reserve_floats(scratch, p->n) &&
        tort_operands_scratch(&node->inputs[in->a], &node->inputs[in->b], &operands) &&
        tort_cpu_reserve(scratch, operands))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

static void take_sums(const tort_integer_product *product, int64_t first, int64_t count, double *sums) {
    const int32_t *integers = product->arg;
    for (int64_t i = 0; i < count; i++) sums[i] = integers[first + i];
}

typedef struct quantize_job {
    const tort_call *call;
    const int32_t *sums;
    int64_t columns; /* of Y, whose rows they are */
    tort_requantized requantized;
} quantize_job;

static void quantize_rows(void *arg, int64_t begin, int64_t end) {
    const quantize_job *job = arg;
    const tort_cpu_device *device = job->call->device;
    for (int64_t row = begin; row < end; row++)
        device->simd->requantize(&job->requantized, job->sums + row * job->columns,
                                 (uint8_t *)job->call->outputs[0].data + row * job->columns, job->columns);
}

/* False: a scale is neither one number nor one a column. Else the factors of columns, of which one may be for all. */
static bool read_factors(const tort_integer_product *product, int64_t columns, float *factors, bool *many) {
    const tort_tensor *b_scale = product->b_scale;
    float a;
    *many = tort_count(b_scale) > 1;
    if (tort_count(product->a_scale) != 1 || (*many && (b_scale->rank != 1 || b_scale->dims[0] != columns)))
        return false;
    tort_load_floats(product->a_scale->type, product->a_scale->data, 0, 1, &a);
    tort_load_floats(b_scale->type, b_scale->data, 0, *many ? columns : 1, factors);
    for (int64_t j = 0; j < (*many ? columns : 1); j++)
        factors[j] = a * factors[j] / (product->quantized ? product->y_scale : 1);
    return true;
}

typedef struct float_job {
    const float *factors, *bias; /* bias NULL: none */
    const int32_t *sums;
    float *y;
    int64_t columns, factor_step;
} float_job;

static void scale_rows(void *arg, int64_t begin, int64_t end) {
    const float_job *job = arg;
    const int64_t step = job->factor_step;
    for (int64_t row = begin; row < end; row++) {
        const int32_t *sums = job->sums + row * job->columns;
        float *y = job->y + row * job->columns;
        if (step)
            for (int64_t j = 0; j < job->columns; j++) y[j] = (float)sums[j] * job->factors[j];
        else
            for (int64_t j = 0; j < job->columns; j++) y[j] = (float)sums[j] * job->factors[0];
        for (int64_t j = 0; job->bias && j < job->columns; j++) y[j] += job->bias[j];
    }
}

/* False: the plain loop has to make Y of the sums. */
static bool finish(const tort_call *call, const tort_integer_product *product, int64_t columns, float *factors) {
    const tort_tensor *y = &call->outputs[0];
    bool many;
    if (!(is_byte(y->type) || (y->type == TORT_FLOAT && !product->quantized)) ||
        !read_factors(product, columns, factors, &many) || (product->bias && tort_count(product->bias) != columns))
        return false;
    if (y->type == TORT_FLOAT) {
        float_job job = {.factors = factors, .sums = product->arg, .y = y->data, .columns = columns};
        job.factor_step = many;
        if (product->bias) job.bias = product->bias->data;
        tort_parallel(call, tort_count(y) / columns, columns, scale_rows, &job);
        return true;
    }
    quantize_job job = {.call = call,
                        .sums = product->arg,
                        .columns = columns,
                        .requantized = tort_cpu_requantized(call, product->y_zero_point)};
    job.requantized.factors = many ? factors : NULL;
    job.requantized.factor = factors[0];
    tort_parallel(call, tort_count(y) / columns, 4 * columns, quantize_rows, &job);
    return true;
}

static tort_status run_of(const tort_call *call, const tort_integer_inputs *in) {
    const tort_matmul_params *p = call->params;
    const tort_cpu_device *device = call->device;
    const int64_t count = tort_count(&call->outputs[0]);
    char *scratch = call->scratch;
    if (count == 0) return TORT_OK;
    const size_t buffer = tort_packed_gemm_buffer(device->simd, false, call->packed != NULL);
    void *buffers = tort_cpu_take(&scratch, buffer * (size_t)device->threads);
    int32_t *sums = tort_cpu_take(&scratch, (size_t)count * sizeof *sums);
    float *factors = tort_cpu_take(&scratch, (size_t)p->n * sizeof *factors);
    tort_integer_product product;
    tort_integer_product_open(call, in, (float *)(void *)scratch, &product);
    product.sums = take_sums;
    product.arg = sums;
    tort_packed_gemm gemm = {.m = p->m,
                             .n = p->n,
                             .k = p->k,
                             .a = product.a,
                             .a_row_stride = p->k,
                             .a_k_stride = 1,
                             .scale = 1,
                             .b = product.b,
                             .b_k_stride = p->n,
                             .b_column_stride = 1,
                             .c_stride = p->n,
                             .sums = sums};
    const bool one = tort_product_is_one(p);
    if (one) gemm.m *= p->batches;
    tort_status status = tort_product_run(call, &gemm, one ? NULL : p, buffers);
    if (!status && !finish(call, &product, p->n, factors)) tort_integer_product_finish(call, &product, 64);
    return status;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define DEFINE(name, inputs)                                                                                           \
    static tort_status pack_size_##name(const tort_target *target, const tort_node_view *node, size_t *bytes,          \
                                        uint32_t *consumed, tort_error *error) {                                       \
        return pack_size_of(target, node, &inputs, bytes, consumed, error);                                            \
    }                                                                                                                  \
    static tort_status prepare_##name(tort_prepare *prepare) {                                                         \
        return prepare_of(prepare, &inputs);                                                                           \
    }                                                                                                                  \
    static tort_status size_##name(const tort_target *target, const tort_node_view *node, size_t *scratch,             \
                                   tort_error *error) {                                                                \
        return size_of(target, node, &inputs, scratch, error);                                                         \
    }                                                                                                                  \
    static tort_status run_##name(const tort_call *call) {                                                             \
        return run_of(call, &inputs);                                                                                  \
    }
DEFINE(linear, tort_linear_matmul_inputs)
DEFINE(to_float, tort_matmul_to_float_inputs)
DEFINE(dynamic, tort_dynamic_matmul_inputs)

#define ROW(domain_, op_, kernel_, name_)                                                                              \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = kernel_, .claim = claim, .size = size_##name_,                           \
        .pack_size = pack_size_##name_, .prepare = prepare_##name_, .run = run_##name_                                 \
    }

const tort_kernel tort_cpu_qlinear_matmul[] = {
    ROW("", "QLinearMatMul", "qlinear_matmul_packed", linear),
    ROW("com.microsoft", "MatMulIntegerToFloat", "matmul_integer_to_float_packed", to_float),
    ROW("com.microsoft", "DynamicQuantizeMatMul", "dynamic_quantize_matmul_packed", dynamic),
    {.op = NULL},
};
