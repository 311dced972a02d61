/* qlinear_matmul.c - MatMulInteger, QLinearMatMul, MatMulIntegerToFloat and DynamicQuantizeMatMul of 8-bit integers.
 *
 * A constant matrix B is packed ahead. DynamicQuantizeMatMul quantizes A first.
 * Read next: byte_product.h; ops/integer_matmul.h for the inputs. */
#include "kernels/cpu/byte_product.h"
#include "kernels/cpu/product.h"
#include "kernels/cpu/quantize.h"
#include "ops/integer_matmul.h"

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    const tort_integer_inputs *in = tort_integer_inputs_of(node->op);
    const struct {
        int32_t input;
        bool many;
        const char *name;
    } numbers[] = {{in->a_scale, false, "a scale of A"}, {in->a_zero, false, "a zero point of A"},
                   {in->b_scale, true, "a scale of B"},  {in->b_zero, true, "a zero point of B"},
                   {in->y_scale, false, "a scale of Y"}, {in->y_zero, false, "a zero point of Y"}};
    tort_verdict verdict = tort_byte_claim(target, node, in->dynamic ? in->b : in->a, in->b);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && verdict.code == TORT_YES; i++)
        verdict = tort_byte_claim_numbers(node, numbers[i].input, numbers[i].name, numbers[i].many);
    if (verdict.code != TORT_YES) return verdict;
    const tort_info *b = &node->inputs[in->b],
                    *bias = in->y_scale >= 0 && in->bias >= 0 ? &node->inputs[in->bias] : NULL;
    if (bias && (b->rank != 2 || bias->rank != 1 || bias->dims[0] != b->dims[1]))
        return tort_no(TORT_NO_SHAPE, "", "the bias is not one number for each column of a matrix");
    const tort_type y = node->outputs[0].type;
    if (tort_type_is_small_float(y)) return tort_no(TORT_NO_TYPE, "", "the result is %s", tort_type_name(y));
    return tort_yes();
}

/* ---- B packed ahead ---------------------------------------------------------------------------------------------- */

static bool packs_b(const tort_node_view *node, const tort_integer_inputs *in) {
    return node->inputs[in->b].constant && node->inputs[in->b].rank == 2;
}

static tort_status pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                             tort_error *error) {
    const tort_integer_inputs *in = tort_integer_inputs_of(node->op);
    const tort_info *b = &node->inputs[in->b];
    if (!packs_b(node, in)) return TORT_OK;
    return tort_byte_product_pack_size(target, in->b, b->dims[1], b->dims[0], bytes, consumed, error);
}

static tort_status prepare(tort_prepare *job) {
    const tort_integer_inputs *in = tort_integer_inputs_of(job->node->op);
    const tort_info *b = &job->node->inputs[in->b];
    if (!job->packed) return TORT_OK;
    return tort_byte_product_prepare(job, in->b, b->dims[1], 1, b->dims[1], b->dims[0]);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* Returns the rows of a product: of all batches, if they are one product. */
static int64_t rows_of(const tort_matmul_params *p) {
    return tort_product_is_one(p) ? p->m * p->batches : p->m;
}

static int64_t count_of(const tort_info *info) {
    int64_t count = 1;
    for (int32_t d = 0; d < info->rank; d++) count *= info->dims[d];
    return count;
}

/* Reserves the product's buffers, zero points and factors of columns, and A as bytes. */
static tort_status size(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    const tort_integer_inputs *in = tort_integer_inputs_of(node->op);
    const tort_matmul_params *p = node->params;
    *scratch = 0;
    if (tort_byte_product_reserve(target, rows_of(p), p->k, packs_b(node, in), scratch) &&
        tort_cpu_reserve_floats(scratch, p->n) && tort_cpu_reserve_floats(scratch, p->n) &&
        tort_cpu_reserve(scratch, in->dynamic ? (size_t)count_of(&node->inputs[in->a]) : 0))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

static void fill_factors(const tort_call *call, const tort_integer_inputs *in, float a_scale, int64_t n,
                         float *factors) {
    const tort_tensor *b_scale = &call->inputs[in->b_scale];
    const float y_scale = in->y_scale >= 0 ? tort_cpu_number(&call->inputs[in->y_scale], 0) : 1;
    const bool many = tort_count(b_scale) > 1;
    tort_load_floats(b_scale->type, b_scale->data, 0, many ? n : 1, factors);
    const float first = factors[0];
    for (int64_t j = 0; j < n; j++) factors[j] = a_scale * (many ? factors[j] : first) / y_scale;
}

static tort_status run(const tort_call *call) {
    const tort_integer_inputs *in = tort_integer_inputs_of(call->op);
    const tort_matmul_params *p = call->params;
    const tort_cpu_device *device = call->device;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    tort_byte_gemm gemm = {.m = rows_of(p), .n = p->n, .k = p->k, .y_stride = p->n};
    char *scratch = call->scratch;
    const int64_t buffer = tort_byte_gemm_buffer(device->bytes, gemm.m, p->k, false, call->packed != NULL);
    uint8_t *buffers = tort_cpu_take(&scratch, (size_t)(buffer * device->threads));
    int32_t *zeros = tort_cpu_take(&scratch, (size_t)p->n * sizeof *zeros);
    float *factors = tort_cpu_take(&scratch, (size_t)p->n * sizeof *factors);
    tort_byte_product_open(call, in->a, in->b, &gemm);
    gemm.a.line_stride = p->k;
    gemm.a.k_stride = gemm.b.line_stride = 1;
    gemm.b.k_stride = p->n;
    float a_scale = 1;
    if (in->dynamic) {
        uint8_t zero;
        const tort_byte_sign sign = tort_byte_sign_of(device->bytes, TORT_UINT8, false);
        tort_cpu_quantize_dynamically(call, &call->inputs[in->a], (uint8_t *)scratch, &a_scale, &zero);
        gemm.a.data = (const uint8_t *)scratch;
        gemm.a.sign = sign;
        gemm.row_zeros.one = zero + sign.shift;
    } else {
        gemm.row_zeros.one = tort_byte_zero(tort_call_input(call, in->a_zero), &gemm.a.sign);
        if (in->a_scale >= 0) a_scale = tort_cpu_number(&call->inputs[in->a_scale], 0);
    }
    gemm.column_zeros = tort_byte_zeros_of(tort_call_input(call, in->b_zero), &gemm.b.sign, p->n, zeros);
    if (in->b_scale >= 0) {
        fill_factors(call, in, a_scale, p->n, factors);
        gemm.column_factors = factors;
    }
    tort_byte_product_result(call, in->y_zero >= 0 ? &call->inputs[in->y_zero] : NULL, &gemm);
    const tort_tensor *bias = in->bias >= 0 ? tort_call_input(call, in->bias) : NULL;
    if (bias && bias->type == TORT_INT32)
        gemm.column_bias = bias->data;
    else if (bias)
        gemm.column_floats = bias->data;
    tort_byte_product_run(call, &gemm, tort_product_is_one(p) ? NULL : p, buffers);
    return TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define ROW(domain_, op_, name_)                                                                                       \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = name_, .claim = claim, .size = size, .pack.size = pack_size,             \
        .pack.writes_all = true, .prepare = prepare, .run = run                                                        \
    }

const tort_kernel tort_cpu_qlinear_matmul[] = {
    ROW("", "MatMulInteger", "matmul_integer_packed"),
    ROW("", "QLinearMatMul", "qlinear_matmul_packed"),
    ROW("tinyort", "QLinearMatMul", "qlinear_matmul_biased"),
    ROW("com.microsoft", "MatMulIntegerToFloat", "matmul_integer_to_float_packed"),
    ROW("com.microsoft", "DynamicQuantizeMatMul", "dynamic_quantize_matmul_packed"),
    {.op = NULL},
};
