/* moe_matrix.c - reads the matrices of experts from inputs, and multiplies them with a vector (moe_matrix.h). */
#include "ops/microsoft/moe_matrix.h"

#include <inttypes.h>

#include "ops/extent.h"

int64_t tort_moe_bits(const tort_node_view *node, int32_t product) {
    static const char *const names[3] = {"fc1_expert_weight_bits", "fc2_expert_weight_bits", "fc3_expert_weight_bits"};
    const char *name = tort_attr(node, names[product]) ? names[product] : "expert_weight_bits";
    const int64_t bits = tort_attr_int(node, name);
    return bits == 2 || bits == 4 ? bits : 8;
}

static tort_status expect(const tort_resolve *resolve, int32_t input, int32_t rank, const int64_t *dims) {
    const tort_node_view *node = resolve->node;
    if (!tort_has_input(node, input)) return TORT_OK;
    const tort_info *info = &node->inputs[input];
    bool fits = info->rank == rank;
    for (int32_t d = 0; fits && d < rank; d++) fits = info->dims[d] == dims[d];
    if (fits) return TORT_OK;
    return tort_fail(resolve->error, TORT_E_MODEL,
                     "input %d has not the shape (%" PRId64 ", %" PRId64 "%s) that the other inputs ask for",
                     (int)input, dims[0], dims[1], rank == 3 ? ", ..." : "");
}

static tort_status read_quantized(const tort_resolve *resolve, int32_t product, int64_t experts, tort_moe_matrix *m) {
    const tort_node_view *node = resolve->node;
    const int64_t bits = tort_moe_bits(node, product), block = tort_attr_int(node, "block_size");
    m->type = bits == 2 ? TORT_UINT2 : bits == 4 ? TORT_UINT4 : TORT_UINT8;
    if (node->inputs[m->weights].type != TORT_UINT8 || m->scales < 0 ||
        !tort_type_is_float(node->inputs[m->scales].type) || tort_type_bits(node->inputs[m->scales].type) < 16)
        return tort_fail(
            resolve->error, TORT_E_UNSUPPORTED,
            "weights of uint8 with scales of float, float16 or bfloat16 are expected, with quant_type int");
    if (block < 0 || (block > 0 && m->depth % block))
        return tort_fail(resolve->error, TORT_E_MODEL, "block_size is %" PRId64 ", expected a divisor of %" PRId64,
                         block, m->depth);
    m->block = block > 0 ? block : m->depth;
    m->blocks = block > 0 ? m->depth / block : 1;
    const int64_t row_bytes = (m->depth * bits + 7) / 8, zeros = block > 0 ? m->blocks : m->rows;
    const int64_t zero_bytes = (zeros * bits + 7) / 8;
    const int64_t weights[3] = {experts, m->rows, row_bytes}, scales[3] = {experts, m->rows, m->blocks};
    const int64_t row_zeros[2] = {experts, zero_bytes}, block_zeros[3] = {experts, m->rows, zero_bytes};
    m->zeros_row = zero_bytes * 8 / bits;
    tort_status status = expect(resolve, m->weights, 3, weights);
    if (status == TORT_OK) status = expect(resolve, m->scales, block > 0 ? 3 : 2, scales);
    if (status == TORT_OK && m->zeros >= 0)
        status = block > 0 ? expect(resolve, m->zeros, 3, block_zeros) : expect(resolve, m->zeros, 2, row_zeros);
    return status;
}

tort_status tort_moe_matrix_read(const tort_resolve *resolve, int32_t product, const int32_t *inputs, int64_t experts,
                                 int64_t rows, int64_t depth, tort_moe_matrix *m) {
    const tort_node_view *node = resolve->node;
    int32_t present[4];
    for (int32_t i = 0; i < 4; i++) present[i] = inputs[i] >= 0 && tort_has_input(node, inputs[i]) ? inputs[i] : -1;
    m->rows = rows;
    m->depth = depth;
    m->weights = present[0];
    m->scales = present[1];
    m->zeros = present[2];
    m->bias = present[3];
    const int64_t weights[3] = {experts, rows, depth}, bias[2] = {experts, rows};
    m->type = node->inputs[m->weights].type;
    tort_status status =
        inputs[1] >= 0 ? read_quantized(resolve, product, experts, m) : expect(resolve, m->weights, 3, weights);
    return status == TORT_OK && m->bias >= 0 ? expect(resolve, m->bias, 2, bias) : status;
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* Dot product of at most TORT_BLOCK elements, in partial sums so that the compiler can vectorize it. */
static float dot(const float *a, const float *b, int64_t count) {
    enum { LANES = 8 };
    float sums[LANES] = {0}, total = 0;
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (int32_t l = 0; l < LANES; l++) sums[l] += a[i + l] * b[i + l];
    for (; i < count; i++) sums[0] += a[i] * b[i];
    for (int32_t l = 0; l < LANES; l++) total += sums[l];
    return total;
}

/* Reads scale and zero point of a block of row `row`, counted over all experts. */
static void read_block(const tort_call *call, const tort_moe_matrix *m, int64_t row, int64_t block, float *scale,
                       float *zero) {
    const tort_tensor *scales = &call->inputs[m->scales];
    tort_load_floats(scales->type, scales->data, row * m->blocks + block, 1, scale);
    *zero = (float)(1 << (tort_type_bits(m->type) - 1));
    if (m->zeros < 0) return;
    const bool blocked = call->inputs[m->zeros].rank == 3;
    const int64_t at = blocked ? row * m->zeros_row + block : row / m->rows * m->zeros_row + row % m->rows;
    tort_load_floats(m->type, call->inputs[m->zeros].data, at, 1, zero);
}

/* Loads elements first .. first+count-1 of a row, dequantized; at most TORT_BLOCK. */
static void read_row(const tort_call *call, const tort_moe_matrix *m, int64_t row, int64_t first, int64_t count,
                     float *out) {
    const int64_t bits = m->scales < 0 ? 8 : (int64_t)tort_type_bits(m->type);
    const int64_t stride = (m->depth * bits + 7) / 8 * 8 / bits; /* numbers of a row, with the padding to whole bytes */
    tort_load_floats(m->type, call->inputs[m->weights].data, row * stride + first, count, out);
    for (int64_t i = 0; m->scales >= 0 && i < count;) {
        const int64_t block = (first + i) / m->block, left = (block + 1) * m->block - first - i;
        const int64_t run = left < count - i ? left : count - i;
        float scale, zero;
        read_block(call, m, row, block, &scale, &zero);
        for (int64_t k = i; k < i + run; k++) out[k] = (out[k] - zero) * scale;
        i += run;
    }
}

void tort_moe_matrix_multiply(const tort_call *call, const tort_moe_matrix *m, int64_t expert, const float *x,
                              float *y) {
    float weights[TORT_BLOCK];
    int64_t done = 0;
    for (int64_t j = 0; j < m->rows; j++) {
        const int64_t row = expert * m->rows + j;
        double sum = m->bias >= 0 ? tort_element_at(&call->inputs[m->bias], row) : 0;
        for (int64_t k = 0; k < m->depth; k += TORT_BLOCK) {
            const int64_t count = tort_block_count(m->depth, k);
            if (!tort_work_goes_on(call->watch, &done, 16 + count)) return;
            read_row(call, m, row, k, count, weights);
            sum += (double)dot(weights, x + k, count);
        }
        y[j] = (float)sum;
    }
}
