/* bf16_product.c - MatMul, Gemm and their fused forms with a constant B, in bfloat16 with float32 sums on a matrix
 * unit, where the option precision=bf16 asks for it.
 *
 * B is rounded when it is packed ahead, rows of A when they are packed during the run, ROWS_BYTES at a time: both in
 * the layout of bf16.h. A panel of 32 columns passes by all packed rows, K_STEPS steps at a time, so that its part
 * stays in the L1 cache; sums go to Y in float32, tiles at its edges by way of a corner. What follows the product is
 * done to whole rows. Cost: m * n * k multiply-adds, 16 * 16 * 32 an instruction, and m * k roundings.
 * Read next: bf16.h, simd/bf16.c. */
#include "kernels/cpu/bf16.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/pieces.h"
#include "ops/gemm.h"
#include "ops/matmul.h"

#include <string.h>

#define SIDE TORT_BF16_SIDE
#define STEP TORT_BF16_STEP
#define UNIT TORT_BF16_UNIT
#define ROWS_BYTES (512 * 1024) /* of packed rows: in the L2 cache */
#define K_STEPS 16              /* of a panel at a time: 32 KiB */
#define SCALE_AT_ONCE 256       /* floats that are scaled while B is packed */

static int64_t steps_of(int64_t k) {
    return (k + STEP - 1) / STEP;
}

/* Returns the rows that are packed at a time. */
static int64_t rows_at_once(int64_t m, int64_t k) {
    const int64_t wanted = ROWS_BYTES / (tort_max(1, steps_of(k)) * STEP * 2) / SIDE * SIDE;
    return tort_min(tort_round_up(m, SIDE), tort_max(SIDE, wanted));
}

/* ---- B ----------------------------------------------------------------------------------------------------------- */

static bool packs_b(const tort_node_view *node) {
    return node->inputs[1].constant && node->inputs[1].rank == 2;
}

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    if (!packs_b(node)) return tort_no(TORT_NO_DYNAMIC, "", "is for a constant B of two dimensions");
    return tort_cpu_claim_float(target, node);
}

static tort_verdict claim_gemm(const tort_target *target, const tort_node_view *node) {
    const tort_gemm_params *p = node->params;
    if (p->trans_a) return tort_no(TORT_NO_ATTR, "transA", "takes rows of A as they lie");
    if (p->has_c && (p->beta != 1 || p->c_row_stride != 0 || (p->c_column_stride != 1 && p->n != 1)))
        return tort_no(TORT_NO_SHAPE, "", "takes a C of one row, and a beta of 1");
    return claim(target, node);
}

static tort_status pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                             tort_error *error) {
    const tort_info *b = &node->inputs[1];
    const bool by_columns = node->op->params_size == sizeof(tort_gemm_params) && tort_attr_int(node, "transB");
    int64_t size;
    (void)target;
    if (__builtin_mul_overflow(tort_round_up(b->dims[!by_columns], SIDE),
                               steps_of(b->dims[by_columns]) * STEP * (int64_t)sizeof(uint16_t), &size))
        return tort_out_of_memory(error, SIZE_MAX);
    *bytes = (size_t)size;
    *consumed = 1u << 1;
    return TORT_OK;
}

/* Rounds row `depth` of B, times scale, into all panels. */
static void pack_row(const tort_simd *simd, uint16_t *packed, const float *b, int64_t column_stride, int64_t depth,
                     int64_t n, int64_t steps, float scale) {
    uint16_t *step = packed + depth / STEP * UNIT + depth % STEP / 2 * SIDE + depth % 2;
    for (int64_t first = 0; first < n; first += SIDE, step += steps * UNIT) {
        float scaled[SIDE];
        uint16_t rounded[SIDE];
        const int64_t count = tort_min(SIDE, n - first);
        for (int64_t j = 0; j < count; j++) scaled[j] = b[(first + j) * column_stride] * scale;
        simd->to_bfloat16(scaled, rounded, count);
        for (int64_t j = 0; j < count; j++) step[j / 16 * (UNIT / 2) + j % 16 * 2] = rounded[j];
    }
}

static tort_status pack_b(tort_prepare *prepare, int64_t k_stride, int64_t column_stride, int64_t n, int64_t k,
                          float scale) {
    const tort_cpu_device *device = prepare->device;
    const float *b = prepare->node->inputs[1].data;
    const size_t bytes = (size_t)(tort_round_up(n, SIDE) * steps_of(k) * STEP) * sizeof(uint16_t);
    int64_t done = 0;
    if (!b) return tort_fail(prepare->error, TORT_E_INTERNAL, "the constant B has no data");
    if (!tort_zero_bytes(prepare->watch, prepare->packed, bytes)) return TORT_OK;
    for (int64_t i = 0; i < k && tort_work_goes_on(prepare->watch, &done, n); i++)
        pack_row(device->simd, prepare->packed, b + i * k_stride, column_stride, i, n, steps_of(k), scale);
    return TORT_OK;
}

static tort_status prepare_matmul(tort_prepare *prepare) {
    const tort_matmul_params *p = prepare->node->params;
    return pack_b(prepare, p->b_row, p->b_column, p->n, p->k, p->alpha);
}

static tort_status prepare_gemm(tort_prepare *prepare) {
    const tort_gemm_params *p = prepare->node->params;
    const tort_info *b = &prepare->node->inputs[1];
    const int64_t width = b->dims[1];
    return pack_b(prepare, p->trans_b ? 1 : width, p->trans_b ? width : 1, b->dims[!p->trans_b], b->dims[p->trans_b],
                  p->alpha);
}

/* ---- the product ------------------------------------------------------------------------------------------------- */

typedef struct product {
    const tort_call *call;
    const tort_cpu_device *device;
    const tort_bf16 *unit;
    int64_t m, n, k, a_row;
    const float *a, *bias, *residual; /* bias, residual: or NULL */
    float *y;
    const tort_epilogue *epilogue; /* or NULL */
    int32_t parts;
    char *buffers; /* buffer_bytes for each part: packed rows */
    int64_t buffer_bytes;
} product;

static int64_t buffer_bytes(int64_t m, int64_t k) {
    return rows_at_once(m, k) * tort_max(1, steps_of(k)) * STEP * (int64_t)sizeof(uint16_t);
}

/* Rounds `count` rows of A into blocks of 32; rows that are missing in the last one keep what was there, since their
 * sums are dropped. */
static void pack_rows(const product *p, int64_t first, int64_t count, uint16_t *to) {
    const int64_t steps = steps_of(p->k);
    for (int64_t i = 0; i < count; i++) {
        const float *from = p->a + (first + i) * p->a_row;
        uint16_t *row = to + i / SIDE * steps * UNIT + i % SIDE / 16 * (UNIT / 2) + i % 16 * STEP;
        for (int64_t k = 0; k < p->k; k += STEP, row += UNIT) {
            const int64_t left = tort_min(STEP, p->k - k);
            if (left < STEP) memset(row, 0, STEP * sizeof *row);
            p->device->simd->to_bfloat16(from + k, row, left);
        }
    }
}

static void copy_corner(float *to, int64_t to_stride, const float *from, int64_t from_stride, int64_t rows,
                        int64_t columns) {
    for (int64_t i = 0; i < rows; i++) memcpy(to + i * to_stride, from + i * from_stride, (size_t)columns * sizeof *to);
}

/* Makes a panel's columns of `count` packed rows, K_STEPS steps of k at a time. */
static void multiply_panel(const product *p, int64_t first, int64_t count, int64_t column, const uint16_t *rows) {
    const int64_t steps = steps_of(p->k), columns = tort_min(SIDE, p->n - column);
    const uint16_t *panel = (const uint16_t *)p->call->packed + column * steps * STEP;
    _Alignas(64) float corner[SIDE * SIDE], bias[SIDE] = {0};
    if (p->bias) memcpy(bias, p->bias + column, (size_t)columns * sizeof *bias);
    for (int64_t s = 0; s == 0 || s < steps; s += K_STEPS)
        for (int64_t i = 0; i < count; i += SIDE) {
            const int64_t height = tort_min(SIDE, count - i);
            const bool whole = height % 16 == 0 && columns % 16 == 0;
            float *y = p->y + (first + i) * p->n + column;
            tort_bf16_tile t = {.rows = rows + (i / SIDE * steps + s) * UNIT,
                                .columns = panel + s * UNIT,
                                .steps = tort_min(K_STEPS, steps - s),
                                .sums = whole ? y : corner,
                                .stride = whole ? p->n : SIDE,
                                .adds = s > 0,
                                .bias = bias,
                                .row_count = (int32_t)height,
                                .column_count = (int32_t)columns};
            if (!whole && s > 0) copy_corner(corner, SIDE, y, p->n, height, columns);
            p->unit->tile(&t);
            if (!whole) copy_corner(y, p->n, corner, SIDE, height, columns);
        }
}

/* Makes rows m_first..m_last and columns n_first..n_last; the firsts are multiples of 32. */
static void multiply_share(const product *p, int64_t m_first, int64_t m_last, int64_t n_first, int64_t n_last,
                           uint16_t *buffer) {
    const int64_t at_once = rows_at_once(p->m, p->k), work = tort_work(at_once, SIDE, p->k);
    for (int64_t m = m_first; m < m_last; m += at_once) {
        const int64_t count = tort_min(at_once, m_last - m);
        int64_t i = 0;
        pack_rows(p, m, count, buffer);
        for (int64_t n = n_first; n < n_last && tort_piece_goes_on(p->call, i, work); n += SIDE, i++)
            multiply_panel(p, m, count, n, buffer);
        for (int64_t row = m; p->epilogue && row < m + count; row++) {
            const int64_t at = row * p->n + n_first;
            p->device->simd->finish(p->epilogue, p->residual ? p->residual + at : NULL, p->y + at, n_last - n_first);
        }
    }
}

static void product_part(void *arg, int64_t begin, int64_t end) {
    const product *p = arg;
    p->unit->begin();
    for (int64_t part = begin; part < end; part++) {
        int64_t m_first = 0, m_last = p->m, n_first = 0, n_last = p->n;
        if (p->m >= p->n)
            tort_cpu_share(p->m, SIDE, part, p->parts, &m_first, &m_last);
        else
            tort_cpu_share(p->n, SIDE, part, p->parts, &n_first, &n_last);
        if (m_first < m_last && n_first < n_last)
            multiply_share(p, m_first, m_last, n_first, n_last,
                           (uint16_t *)(void *)(p->buffers + part * p->buffer_bytes));
    }
    p->unit->end();
}

static void multiply(const tort_call *call, product *p) {
    p->call = call;
    p->device = call->device;
    p->unit = p->device->bf16;
    p->parts = tort_max(p->m, p->n) <= SIDE ? 1 : p->device->threads;
    p->buffers = call->scratch;
    p->buffer_bytes = tort_round_up(buffer_bytes(p->m, p->k), TORT_HOST_ALIGN);
    tort_cpu_parts(call, p->parts, product_part, p);
}

static tort_status reserve(const tort_target *target, int64_t m, int64_t k, size_t *scratch, tort_error *error) {
    size_t bytes;
    *scratch = 0;
    if (tort_mul_size((uint64_t)tort_round_up(buffer_bytes(m, k), TORT_HOST_ALIGN), (uint64_t)target->threads,
                      &bytes) &&
        tort_cpu_reserve(scratch, bytes))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

static tort_status size_matmul(const tort_target *target, const tort_node_view *node, size_t *scratch,
                               tort_error *error) {
    const tort_matmul_params *p = node->params;
    return reserve(target, p->m * tort_max(1, p->batches), p->k, scratch, error);
}

static tort_status size_gemm(const tort_target *target, const tort_node_view *node, size_t *scratch,
                             tort_error *error) {
    const tort_gemm_params *p = node->params;
    return reserve(target, p->m, p->k, scratch, error);
}

/* B is one matrix and A is not transposed: all batches are one product of the rows of A. */
static tort_status run_matmul(const tort_call *call) {
    const tort_matmul_params *p = call->params;
    const tort_tensor *bias = tort_call_input(call, 2);
    product made = {.m = p->m * p->batches,
                    .n = p->n,
                    .k = p->k,
                    .a_row = p->k,
                    .a = call->inputs[0].data,
                    .bias = bias ? bias->data : NULL,
                    .residual = tort_cpu_residual(call, &p->epilogue),
                    .y = call->outputs[0].data,
                    .epilogue = tort_cpu_epilogue(&p->epilogue)};
    if (tort_count(&call->outputs[0]) > 0) multiply(call, &made);
    return TORT_OK;
}

static tort_status run_gemm(const tort_call *call) {
    const tort_gemm_params *p = call->params;
    product made = {.m = p->m,
                    .n = p->n,
                    .k = p->k,
                    .a_row = p->k,
                    .a = call->inputs[0].data,
                    .bias = p->has_c ? call->inputs[2].data : NULL,
                    .residual = tort_cpu_residual(call, &p->epilogue),
                    .y = call->outputs[0].data,
                    .epilogue = tort_cpu_epilogue(&p->epilogue)};
    if (tort_count(&call->outputs[0]) > 0) multiply(call, &made);
    return TORT_OK;
}

#define MATMUL(domain_, op_)                                                                                           \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = "matmul_bf16", .asked = TORT_CPU_BF16, .claim = claim,                   \
        .size = size_matmul, .pack.size = pack_size, .pack.writes_all = true, .prepare = prepare_matmul,               \
        .run = run_matmul                                                                                              \
    }
#define GEMM(domain_, op_)                                                                                             \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = "gemm_bf16", .asked = TORT_CPU_BF16, .claim = claim_gemm,                \
        .size = size_gemm, .pack.size = pack_size, .pack.writes_all = true, .prepare = prepare_gemm, .run = run_gemm   \
    }

const tort_kernel tort_cpu_bf16_product[] = {
    MATMUL("", "MatMul"), MATMUL("tinyort", "FusedMatMul"), GEMM("", "Gemm"), GEMM("tinyort", "FusedGemm"),
    {.op = NULL},
};
