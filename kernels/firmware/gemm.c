/* gemm.c - Gemm, MatMul and their fused forms as one function. */
#include "ops/gemm.h"
#include "kernels/firmware/code/gemm.h"
#include "kernels/firmware/firmware.h"
#include "ops/matmul.h"

/* Arguments of tinyort_gemm but for its operands; c: whether there is an operand to add. */
typedef struct product {
    tinyort_gemm_shape shape;
    float numbers[4]; /* alpha, beta, and the bounds */
    bool c;
} product;

/* The batches of a product as two axes: neighbouring ones are merged where both operands step evenly. False: more. */
static bool merge_batches(const tort_matmul_params *p, tinyort_gemm_shape *shape) {
    int64_t sizes[TORT_MAX_RANK] = {1}, as[TORT_MAX_RANK] = {0}, bs[TORT_MAX_RANK] = {0};
    int32_t count = 0;
    for (int32_t i = 0; i < p->batch_rank; i++) {
        const int64_t size = p->batch_dims[i], a = p->a_strides[i], b = p->b_strides[i];
        if (size == 1) continue;
        if (count && as[count - 1] == size * a && bs[count - 1] == size * b) {
            sizes[count - 1] *= size;
        } else {
            sizes[count++] = size;
        }
        as[count - 1] = a;
        bs[count - 1] = b;
    }
    const int32_t inner = count > 1 ? 1 : 0;
    shape->groups = inner ? (int32_t)sizes[0] : 1;
    shape->a_group = inner ? (int32_t)as[0] : 0;
    shape->b_group = inner ? (int32_t)bs[0] : 0;
    shape->batches = (int32_t)sizes[inner];
    shape->a_batch = (int32_t)as[inner];
    shape->b_batch = (int32_t)bs[inner];
    return count <= 2;
}

static tort_verdict claim_gemm(const tort_target *target, const tort_node_view *node) {
    return tort_firmware_claim_float(target, node);
}

static tort_verdict claim_matmul(const tort_target *target, const tort_node_view *node) {
    const tort_matmul_params *p = node->params;
    tinyort_gemm_shape shape;
    if (p->batch_rank > 2 && (p->batches < 0 || !merge_batches(p, &shape)))
        return tort_no(TORT_NO_SHAPE, "reshape its inputs to 4 axes", "multiplies batches along two axes, not along %d",
                       (int)p->batch_rank);
    return tort_firmware_claim_float(target, node);
}

/* A transposed matrix of (rows, columns) is stored as (columns, rows). */
static void steps_of(bool transposed, int64_t rows, int64_t columns, int32_t *row, int32_t *column) {
    *row = transposed ? 1 : (int32_t)columns;
    *column = transposed ? (int32_t)rows : 1;
}

static product gemm_of(const void *params) {
    const tort_gemm_params *p = params;
    product made = {.shape = {.groups = 1, .batches = 1, .m = (int32_t)p->m, .n = (int32_t)p->n, .k = (int32_t)p->k},
                    .numbers = {p->alpha, p->beta},
                    .c = p->has_c};
    steps_of(p->trans_a, p->m, p->k, &made.shape.a_row, &made.shape.a_column);
    steps_of(p->trans_b, p->k, p->n, &made.shape.b_row, &made.shape.b_column);
    made.shape.c_row = (int32_t)p->c_row_stride;
    made.shape.c_column = (int32_t)p->c_column_stride;
    tort_firmware_bounds(&p->epilogue, &made.numbers[2], &made.numbers[3]);
    return made;
}

static product matmul_of(const void *params, const int64_t *bias_elements) {
    const tort_matmul_params *p = params;
    product made = {.shape = {.m = (int32_t)p->m,
                              .n = (int32_t)p->n,
                              .k = (int32_t)p->k,
                              .a_row = (int32_t)p->a_row,
                              .a_column = (int32_t)p->a_column,
                              .b_row = (int32_t)p->b_row,
                              .b_column = (int32_t)p->b_column},
                    .numbers = {p->alpha, 1.0f},
                    .c = bias_elements != NULL};
    merge_batches(p, &made.shape);
    made.shape.c_column = bias_elements && *bias_elements > 1;
    tort_firmware_bounds(&p->epilogue, &made.numbers[2], &made.numbers[3]);
    return made;
}

static tort_status run_product(const tort_call *call, const product *p, const tort_epilogue *epilogue) {
    if (!tort_count(&call->outputs[0])) return TORT_OK;
    tinyort_gemm(&p->shape, call->inputs[0].data, call->inputs[1].data, p->c ? tort_firmware_input(call, 2) : NULL,
                 tort_firmware_input(call, TORT_EPILOGUE_Z), call->outputs[0].data, p->numbers[0], p->numbers[1],
                 p->numbers[2], p->numbers[3]);
    tort_firmware_activate(epilogue, call->outputs[0].data, tort_count(&call->outputs[0]));
    return TORT_OK;
}

static tort_status run_gemm(const tort_call *call) {
    const tort_gemm_params *params = call->params;
    const product p = gemm_of(params);
    return run_product(call, &p, &params->epilogue);
}

static tort_status run_matmul(const tort_call *call) {
    const tort_tensor *bias = tort_call_input(call, 2);
    const int64_t elements = bias ? tort_count(bias) : 0;
    const tort_matmul_params *params = call->params;
    const product p = matmul_of(params, bias ? &elements : NULL);
    return run_product(call, &p, &params->epilogue);
}

static tort_status emit_product(tort_emit *emit, const product *p, const tort_epilogue *epilogue) {
    const char *operands[6] = {NULL};
    for (int32_t i = 0; i < 4; i++)
        operands[i] = i < emit->node->input_count && (i != 2 || p->c) ? emit->inputs[i] : "NULL";
    operands[4] = emit->outputs[0];
    tort_firmware_add_code(emit, tort_code_clamp);
    tort_firmware_add_code(emit, tort_code_gemm);
    const tort_status status = tort_firmware_emit_with(
        emit,
        &(tort_firmware_call){.function = "tinyort_gemm",
                              .members = "groups batches m n k a_group a_batch a_row a_column b_group b_batch b_row "
                                         "b_column c_row c_column",
                              .shape = &p->shape.groups,
                              .numbers = p->numbers,
                              .number_count = 4},
        operands);
    return status ? status : tort_firmware_emit_activation(emit, epilogue);
}

static tort_status emit_gemm(tort_emit *emit) {
    const tort_gemm_params *params = emit->node->params;
    const product p = gemm_of(params);
    return emit_product(emit, &p, &params->epilogue);
}

static tort_status emit_matmul(tort_emit *emit) {
    const tort_matmul_params *params = emit->node->params;
    tort_tensor bias;
    const bool there = tort_has_input(emit->node, 2) && tort_info_tensor(&emit->node->inputs[2], &bias);
    const int64_t elements = there ? tort_count(&bias) : 0;
    const product p = matmul_of(params, there ? &elements : NULL);
    return emit_product(emit, &p, &params->epilogue);
}

#define ROW(domain_, op_, kind, in_place_)                                                                             \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = #kind, .claim = claim_##kind, .run = run_##kind, .emit = emit_##kind,    \
        .in_place = in_place_                                                                                          \
    }

const tort_kernel tort_firmware_gemm[] = {
    ROW("", "Gemm", gemm, 0),
    ROW("tinyort", "FusedGemm", gemm, 1u << TORT_EPILOGUE_Z),
    ROW("", "MatMul", matmul, 0),
    ROW("tinyort", "FusedMatMul", matmul, 1u << TORT_EPILOGUE_Z),
    {.op = NULL},
};
