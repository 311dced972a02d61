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

static tort_verdict claim_gemm(const tort_target *target, const tort_node_view *node) {
    const tort_gemm_params *p = node->params;
    const tort_verdict verdict = tort_firmware_claim_float(target, node);
    return verdict.code == TORT_YES ? tort_firmware_claim_bounds(&p->epilogue) : verdict;
}

static tort_verdict claim_matmul(const tort_target *target, const tort_node_view *node) {
    const tort_matmul_params *p = node->params;
    const tort_verdict verdict = tort_firmware_claim_float(target, node);
    if (verdict.code == TORT_YES && p->batch_rank > 1)
        return tort_no(TORT_NO_SHAPE, "reshape its inputs to 3 axes", "multiplies batches along one axis, not along %d",
                       (int)p->batch_rank);
    return verdict.code == TORT_YES ? tort_firmware_claim_bounds(&p->epilogue) : verdict;
}

/* A transposed matrix of (rows, columns) is stored as (columns, rows). */
static void steps_of(bool transposed, int64_t rows, int64_t columns, int32_t *row, int32_t *column) {
    *row = transposed ? 1 : (int32_t)columns;
    *column = transposed ? (int32_t)rows : 1;
}

static product gemm_of(const void *params) {
    const tort_gemm_params *p = params;
    product made = {.shape = {.batches = 1, .m = (int32_t)p->m, .n = (int32_t)p->n, .k = (int32_t)p->k},
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
    product made = {.shape = {.batches = (int32_t)p->batches,
                              .m = (int32_t)p->m,
                              .n = (int32_t)p->n,
                              .k = (int32_t)p->k,
                              .a_row = (int32_t)p->a_row,
                              .a_column = (int32_t)p->a_column,
                              .b_row = (int32_t)p->b_row,
                              .b_column = (int32_t)p->b_column},
                    .numbers = {p->alpha, 1.0f},
                    .c = bias_elements != NULL};
    if (p->batch_rank == 1) made.shape.a_batch = (int32_t)p->a_strides[0];
    if (p->batch_rank == 1) made.shape.b_batch = (int32_t)p->b_strides[0];
    made.shape.c_column = bias_elements && *bias_elements > 1;
    tort_firmware_bounds(&p->epilogue, &made.numbers[2], &made.numbers[3]);
    return made;
}

static tort_status run_product(const tort_call *call, const product *p) {
    if (!tort_count(&call->outputs[0])) return TORT_OK;
    tinyort_gemm(&p->shape, call->inputs[0].data, call->inputs[1].data, p->c ? tort_firmware_input(call, 2) : NULL,
                 tort_firmware_input(call, TORT_EPILOGUE_Z), call->outputs[0].data, p->numbers[0], p->numbers[1],
                 p->numbers[2], p->numbers[3]);
    return TORT_OK;
}

static tort_status run_gemm(const tort_call *call) {
    const product p = gemm_of(call->params);
    return run_product(call, &p);
}

static tort_status run_matmul(const tort_call *call) {
    const tort_tensor *bias = tort_call_input(call, 2);
    const int64_t elements = bias ? tort_count(bias) : 0;
    const product p = matmul_of(call->params, bias ? &elements : NULL);
    return run_product(call, &p);
}

static tort_status emit_product(tort_emit *emit, const product *p) {
    const char *inputs[4];
    const char *const *given = emit->inputs;
    for (int32_t i = 0; i < 4; i++) inputs[i] = i < emit->node->input_count && (i != 2 || p->c) ? given[i] : "NULL";
    emit->code[0] = tort_code_clamp;
    emit->code[1] = tort_code_gemm;
    emit->inputs = inputs;
    const tort_status status = tort_firmware_emit(
        emit, &(tort_firmware_call){"tinyort_gemm",
                                    "batches m n k a_batch a_row a_column b_batch b_row b_column c_row c_column",
                                    &p->shape.batches, 4, p->numbers, 4});
    emit->inputs = given;
    return status;
}

static tort_status emit_gemm(tort_emit *emit) {
    const product p = gemm_of(emit->node->params);
    return emit_product(emit, &p);
}

static tort_status emit_matmul(tort_emit *emit) {
    tort_tensor bias;
    const bool there = tort_has_input(emit->node, 2) && tort_info_tensor(&emit->node->inputs[2], &bias);
    const int64_t elements = there ? tort_count(&bias) : 0;
    const product p = matmul_of(emit->node->params, there ? &elements : NULL);
    return emit_product(emit, &p);
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
