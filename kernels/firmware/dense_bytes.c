/* dense_bytes.c - QGemm and QLinearMatMul: products of bytes with constant filters; QLinearMatMul of two matrices that
 * change, as attention has them, by a plain loop. */
#include "kernels/firmware/bytes.h"
#include "kernels/firmware/code/matmul_bytes.h"
#include "ops/matmul.h"
#include "ops/microsoft/qgemm.h"
#include "ops/microsoft/qlinear.h"

/* Input indices of an operator, by tort_kernel.variant. */
enum { GEMM, MATMUL, BIASED };
static const struct {
    int32_t a_scale, a_zero, b, b_scale, b_zero, bias, y_scale, y_zero;
} inputs[] = {
    [GEMM] = {1, 2, 3, 4, 5, 6, 7, 8},
    [MATMUL] = {1, 2, 3, 4, 5, -1, 6, 7},
    [BIASED] = {1, 2, 3, 4, 5, 8, 6, 7},
};

/* A product as far as kernels here serve it: `count` rows of `length`, times `filters` columns of B. */
typedef struct product {
    int64_t count, length, filters, k_stride, column_stride;
    float alpha;
} product;

static product product_of(int32_t variant, const void *params) {
    if (variant == GEMM) {
        const tort_qgemm *p = params;
        return (product){p->m, p->k, p->n, p->b_k_stride, p->b_column_stride, p->alpha};
    }
    const tort_matmul_params *p = params;
    return (product){p->batches * p->m, p->k, p->n, p->b_row, p->b_column, 1};
}

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static tort_verdict claim_numbers(const tort_node_view *node) {
    const int32_t v = node->kernel->variant;
    const struct {
        int32_t input;
        const char *name;
    } constants[] = {{inputs[v].a_scale, "the scale of A"},
                     {inputs[v].a_zero, "the zero point of A"},
                     {inputs[v].b_scale, "the scale of B"},
                     {inputs[v].y_scale, "the scale of Y"},
                     {inputs[v].y_zero, "the zero point of Y"}};
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
        const tort_verdict verdict = tort_firmware_claim_constant(node, constants[i].input, constants[i].name);
        if (verdict.code != TORT_YES) return verdict;
    }
    if (tort_firmware_count(node, inputs[v].a_scale) == 1 && tort_firmware_count(node, inputs[v].y_scale) == 1)
        return tort_yes();
    return tort_no(TORT_NO_ATTR, "quantize by tensor", "A or Y has a scale for each row");
}

static tort_verdict claim_gemm(const tort_target *target, const tort_node_view *node) {
    const tort_qgemm *p = node->params;
    (void)target;
    tort_verdict verdict = tort_firmware_claim_weights(node, TORT_QGEMM_B, TORT_QGEMM_B_ZERO);
    if (verdict.code == TORT_YES) verdict = claim_numbers(node);
    if (verdict.code == TORT_YES) verdict = tort_firmware_claim_constant(node, TORT_QGEMM_C, "C");
    if (verdict.code != TORT_YES) return verdict;
    if (!tort_has_input(node, TORT_QGEMM_Y_SCALE)) return tort_no(TORT_NO_TYPE, "quantize its output", "Y is float");
    if (p->a_k_stride != 1) return tort_no(TORT_NO_ATTR, "transpose A before", "transA is set");
    if (p->c_row_stride) return tort_no(TORT_NO_SHAPE, "", "C has a number for each element");
    return tort_yes();
}

static tort_verdict claim_matmul(const tort_target *target, const tort_node_view *node) {
    const tort_matmul_params *p = node->params;
    (void)target;
    tort_verdict verdict = tort_firmware_claim_weights(node, inputs[MATMUL].b, inputs[MATMUL].b_zero);
    if (verdict.code == TORT_YES) verdict = claim_numbers(node);
    if (verdict.code == TORT_YES) verdict = tort_firmware_claim_constant(node, inputs[node->kernel->variant].bias, "C");
    for (int32_t i = 0; verdict.code == TORT_YES && i < p->batch_rank; i++)
        if (p->b_strides[i]) verdict = tort_no(TORT_NO_SHAPE, "", "B has batches");
    return verdict;
}

/* ---- constant filters -------------------------------------------------------------------------------------------- */

static tort_firmware_filters filters_of(const tort_firmware_bytes *form, int32_t variant, const void *params) {
    const product p = product_of(variant, params);
    tort_firmware_filters f = tort_firmware_filters_of(form, 1, p.filters, p.length);
    f.padded = (p.filters + 3) / 4 * 4;
    return f;
}

static tort_status pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                             tort_error *error) {
    const int32_t v = node->kernel->variant;
    const tort_firmware_filters f = filters_of(tort_firmware_bytes_of(target), v, node->params);
    *consumed = 1u << inputs[v].b | 1u << inputs[v].b_scale;
    if (inputs[v].bias >= 0) *consumed |= 1u << inputs[v].bias;
    if (tort_firmware_packed_bytes(&f, bytes)) return TORT_OK;
    return tort_fail(error, TORT_E_MODEL, "a column of B has %lld weights, firmware sums at most %d",
                     (long long)f.length, TORT_FIRMWARE_LONGEST);
}

static tort_status prepare(tort_prepare *prepare) {
    const tort_node_view *node = prepare->node;
    const int32_t v = node->kernel->variant;
    const product p = product_of(v, node->params);
    const tort_firmware_bytes *form = prepare->device;
    const tort_firmware_filters f = filters_of(form, v, node->params);
    const tort_info *b = &node->inputs[inputs[v].b];
    const uint8_t flip = (uint8_t)tort_firmware_flip(b->type);
    const float a_scale = (float)tort_firmware_number(node, inputs[v].a_scale, 0, 1);
    const float y_scale = (float)tort_firmware_number(node, inputs[v].y_scale, 0, 1);
    const int64_t turn = form->turn ? form->turn : f.depth;
    tort_firmware_packed *head = prepare->packed;
    int8_t *w = tort_alloc(prepare->env, (size_t)f.length + 1);
    tort_status status = w ? TORT_OK : tort_out_of_memory(prepare->error, (size_t)f.length);
    head->x_zero = (int32_t)tort_firmware_number(node, inputs[v].a_zero, 0, 0);
    head->y_zero = (int32_t)tort_firmware_number(node, inputs[v].y_zero, 0, 0);
    for (int64_t m = 0; !status && m < p.filters; m++) {
        const float factor = p.alpha * a_scale * (float)tort_firmware_number(node, inputs[v].b_scale, m, 1) / y_scale;
        int8_t *to = (int8_t *)(uintptr_t)tort_firmware_weights(&f, head) + m / 4 * 4 * f.depth + m % 4 * turn;
        for (int64_t k = 0; k < f.length; k++)
            w[k] = (int8_t)(((const uint8_t *)b->data)[k * p.k_stride + m * p.column_stride] ^ flip);
        status =
            tort_firmware_pack_filter(&f, 0, m, w, tort_firmware_number(node, inputs[v].bias, m, 0), factor,
                                      head->x_zero - tort_firmware_flip(node->inputs[0].type), head, prepare->error);
        for (int64_t k = 0; k < f.length; k++) to[k / turn * 4 * turn + k % turn] = w[k];
    }
    if (w) tort_free(prepare->env, w, (size_t)f.length + 1);
    return status;
}

static tort_status size(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    const tort_firmware_bytes *form = tort_firmware_bytes_of(target);
    (void)error;
    *scratch = (size_t)filters_of(form, node->kernel->variant, node->params).depth * (form->widens ? 2 : 1);
    return TORT_OK;
}

static tort_status run(const tort_call *call) {
    const tort_firmware_bytes *form = call->device;
    const product p = product_of(call->kernel->variant, call->params);
    const tort_firmware_filters f = filters_of(form, call->kernel->variant, call->params);
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    const tinyort_dense_bytes_shape shape = {.rows = tort_firmware_rows(form, &f, x->type, y->type, call->packed),
                                             .count = (int32_t)p.count};
    tort_firmware_tell_product(call, &f, &shape.rows);
    return TORT_FIRMWARE_CALL_FORM(call, form->dense_rows, "tinyort_dense_bytes", form->dense, &shape, x->data,
                                   tort_firmware_weights(&f, call->packed), tort_firmware_bias(call->packed),
                                   tort_firmware_factors(&f, call->packed), call->scratch, y->data);
}

/* ---- two matrices that change ------------------------------------------------------------------------------------ */

/* The distance of the matrices of A, or B, in elements: axes of batches that lie behind each other count as one. False:
 * they do not. */
static bool batch_step(const tort_matmul_params *p, const int64_t *strides, int64_t *step) {
    int64_t next = *step = 0;
    bool innermost = true;
    for (int32_t i = p->batch_rank - 1; i >= 0; i--) {
        if (p->batch_dims[i] == 1) continue;
        if (innermost) *step = strides[i];
        if (!innermost && strides[i] != next) return false;
        next = strides[i] * p->batch_dims[i];
        innermost = false;
    }
    return true;
}

static tort_verdict claim_two(const tort_target *target, const tort_node_view *node) {
    const tort_matmul_params *p = node->params;
    (void)target;
    tort_verdict verdict = claim_numbers(node);
    if (verdict.code == TORT_YES) verdict = tort_firmware_claim_constant(node, inputs[MATMUL].b_zero, "b_zero_point");
    if (verdict.code != TORT_YES) return verdict;
    if (tort_firmware_count(node, inputs[MATMUL].b_scale) != 1)
        return tort_no(TORT_NO_ATTR, "quantize by tensor", "B has a scale for each column");
    int64_t step;
    if (!batch_step(p, p->a_strides, &step) || !batch_step(p, p->b_strides, &step))
        return tort_no(TORT_NO_SHAPE, "reshape its inputs to 3 axes", "has %d axes of batches, some of which repeat",
                       (int)p->batch_rank);
    if (p->k > TORT_FIRMWARE_LONGEST / 4) return tort_no(TORT_NO_SHAPE, "", "sums may leave 32 bits");
    return tort_yes();
}

static tort_status run_two(const tort_call *call) {
    const tort_matmul_params *p = call->params;
    const tort_tensor *in = call->inputs, *y = &call->outputs[0];
    const tort_linear a = tort_linear_of(call, 1, 2), b = tort_linear_of(call, 4, 5), to = tort_linear_of(call, 6, 7);
    const int32_t a_flip = tort_firmware_flip(in[0].type), b_flip = tort_firmware_flip(in[3].type),
                  y_flip = tort_firmware_flip(y->type);
    const float factor = a.scale * b.scale / to.scale;
    int64_t a_batch, b_batch;
    batch_step(p, p->a_strides, &a_batch);
    batch_step(p, p->b_strides, &b_batch);
    const tinyort_matmul_bytes_shape shape = {
        .rows = {.filters = (int32_t)p->n,
                 .depth = (int32_t)p->k,
                 .zero = (int32_t)to.zero - y_flip,
                 .flip = y_flip,
                 .x_flip = a_flip,
                 .wide = p->k >= 256 || (double)p->k * 65025 * (double)factor >= 0x1p21},
        .batches = (int32_t)p->batches,
        .m = (int32_t)p->m,
        .a_batch = (int32_t)a_batch,
        .b_batch = (int32_t)b_batch,
        .a_row = (int32_t)p->a_row,
        .a_column = (int32_t)p->a_column,
        .b_row = (int32_t)p->b_row,
        .b_column = (int32_t)p->b_column,
        .a_zero = (int32_t)a.zero - a_flip,
        .b_zero = (int32_t)b.zero - b_flip,
        .b_flip = b_flip};
    tort_firmware_define(call, shape.rows.wide, y_flip || a_flip || b_flip, false);
    return TORT_FIRMWARE_CALL_WITH(call, tinyort_matmul_bytes, &shape, (in[0].data, in[3].data, y->data), factor);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define ROW(domain_, op_, claim_, variant_)                                                                            \
    {                                                                                                                  \
        domain_, op_, "dense_bytes", .claim = claim_, .size = size, .prepare = prepare, .pack = {.size = pack_size},   \
                                     .run = run, .emit = tort_firmware_emit, .variant = variant_                       \
    }

const tort_kernel tort_firmware_dense_bytes[] = {
    ROW("com.microsoft", "QGemm", claim_gemm, GEMM),
    ROW("", "QLinearMatMul", claim_matmul, MATMUL),
    ROW("tinyort", "QLinearMatMul", claim_matmul, BIASED),
    {"", "QLinearMatMul", "matmul_bytes", .claim = claim_two, .run = run_two, .emit = tort_firmware_emit,
     .variant = MATMUL},
    {.op = NULL},
};
