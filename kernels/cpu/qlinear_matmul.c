/* qlinear_matmul.c - QLinearMatMul of 8-bit integers: exact sums by the float product, as in matmul.c, then scales.
 *
 * Read next: packed_gemm.h for why the sums are exact; ops/integer_matmul.h. */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/product.h"
#include "ops/integer_matmul.h"
#include "ops/quantized.h"

static bool is_byte(tort_type type) {
    return type == TORT_INT8 || type == TORT_UINT8;
}

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    for (int32_t i = 0; i < 2; i++) {
        const tort_type type = node->inputs[tort_linear_matmul_operands[i]].type;
        if (!is_byte(type))
            return tort_no(TORT_NO_TYPE, "", "is for int8 and uint8, an operand is %s", tort_type_name(type));
    }
    return tort_cpu_claim_processor(target);
}

/* The buffers of the product, the sums, A and B as floats. */
static tort_status size(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    const tort_info *y = &node->outputs[0];
    size_t operands;
    int64_t count = 1;
    tort_status status = tort_product_size(target, false, scratch, error);
    if (status) return status;
    for (int32_t d = 0; d < y->rank; d++)
        if (__builtin_mul_overflow(count, y->dims[d], &count)) return tort_out_of_memory(error, SIZE_MAX);
    if (tort_cpu_reserve_floats(scratch, count) &&
        tort_operands_scratch(&node->inputs[tort_linear_matmul_operands[0]],
                              &node->inputs[tort_linear_matmul_operands[1]], &operands) &&
        tort_cpu_reserve(scratch, operands))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

static void take_sums(const tort_integer_product *product, int64_t first, int64_t count, double *sums) {
    const int32_t *integers = product->arg;
    for (int64_t i = 0; i < count; i++) sums[i] = integers[first + i];
}

static tort_status run(const tort_call *call) {
    const tort_matmul_params *p = call->params;
    const tort_cpu_device *device = call->device;
    const int64_t count = tort_count(&call->outputs[0]);
    char *scratch = call->scratch;
    if (count == 0) return TORT_OK;
    void *buffers =
        tort_cpu_take(&scratch, tort_packed_gemm_buffer(device->simd, false, false) * (size_t)device->threads);
    int32_t *sums = tort_cpu_take(&scratch, (size_t)count * sizeof *sums);
    tort_integer_product product;
    tort_integer_product_open(call, true, (float *)(void *)scratch, &product);
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
    if (!status) tort_integer_product_finish(call, &product, 64);
    return status;
}

const tort_kernel tort_cpu_qlinear_matmul[] = {
    {.domain = "", .op = "QLinearMatMul", .name = "qlinear_matmul_packed", .claim = claim, .size = size, .run = run},
    {.op = NULL},
};
