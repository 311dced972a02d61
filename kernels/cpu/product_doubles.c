/* product_doubles.c - MatMul and Gemm of doubles: scikit-learn's models and statistics.
 *
 * A panel of B, some rows by two vectors of columns, is packed and stays in the L1 cache while rows of A pass by, whose
 * elements are read where they lie; sums go on from those in Y. An item of work is a panel's columns by some rows of Y.
 * Cost: m * n * k multiply-adds, and k * n elements packed for every ROWS rows. Read next: simd/product_doubles.c. */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/pieces.h"
#include "ops/gemm.h"
#include "ops/matmul.h"
#include "ops/numeric.h"

#include <string.h>

enum { ROWS = 96, DEPTH = 256, MAX_PANEL = 16 }; /* rows of an item, rows of B in a panel, columns of one */

typedef struct double_job {
    const tort_call *call;
    const tort_simd *simd;
    const tort_matmul_params *batch; /* NULL: a single product */
    const tort_gemm_params *gemm;    /* NULL: alpha and C are none */
    int64_t m, n, k, a_row, a_k, b_k, b_column;
    int64_t panels, groups, items; /* panels of columns, groups of rows, and items of all batches */
    const double *a, *b;
    double *y, *buffers;
    int32_t parts;
} double_job;

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    for (int32_t i = 0; i < node->input_count; i++)
        if (tort_has_input(node, i) && node->inputs[i].type != TORT_DOUBLE)
            return tort_no(TORT_NO_TYPE, "", "is for double, an input is %s", tort_type_name(node->inputs[i].type));
    return tort_cpu_claim_processor(target);
}

static tort_status size(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    (void)node;
    *scratch = 0;
    if (tort_cpu_reserve(scratch, (size_t)target->threads * DEPTH * MAX_PANEL * sizeof(double))) return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

static void pack_panel(const double_job *job, const double *b, int64_t columns, int64_t depth, double *panel) {
    const int64_t width = job->simd->double_columns;
    if (columns < width) memset(panel, 0, (size_t)(depth * width) * sizeof *panel);
    for (int64_t i = 0; i < depth; i++, panel += width, b += job->b_k)
        if (job->b_column == 1)
            memcpy(panel, b, (size_t)columns * sizeof *panel);
        else
            for (int64_t j = 0; j < columns; j++) panel[j] = b[j * job->b_column];
}

/* Y = alpha * Y + beta * C, for the columns of a panel. */
static void finish_rows(const double_job *job, int64_t row, int64_t rows, int64_t column, int64_t columns) {
    const tort_gemm_params *g = job->gemm;
    const double alpha = (double)g->alpha, *c = g->has_c ? job->call->inputs[2].data : NULL;
    double scaled[MAX_PANEL] = {0}; /* beta * C of a row, or of all rows */
    for (int64_t i = row; i < row + rows; i++) {
        double *restrict y = job->y + i * job->n + column;
        for (int64_t j = 0; c && j < columns && (i == row || g->c_row_stride); j++)
            scaled[j] = (double)g->beta * c[i * g->c_row_stride + (column + j) * g->c_column_stride];
        for (int64_t j = 0; j < columns; j++) y[j] = alpha * y[j] + scaled[j];
    }
}

/* Makes some rows of a panel's columns. */
static void make_item(const double_job *job, int64_t item, double *panel) {
    const int64_t width = job->simd->double_columns, batch = item / (job->panels * job->groups);
    const int64_t column = item / job->groups % job->panels * width, columns = tort_min(width, job->n - column);
    const int64_t row = item % job->groups * ROWS, rows = tort_min(ROWS, job->m - row);
    int64_t a = 0, b = 0;
    if (job->batch) tort_matmul_offsets(job->batch, batch, &a, &b);
    double *y = job->y + batch * job->m * job->n + row * job->n + column;
    for (int64_t k = 0; k == 0 || k < job->k; k += DEPTH) {
        const int64_t depth = tort_min(DEPTH, job->k - k);
        if (!tort_call_goes_on(job->call, 0)) return;
        if (job->n == 1 && job->a_k == 1 && job->b_k == 1) { /* a panel would be one column of many */
            job->simd->double_dots(y, rows, job->a + a + row * job->a_row + k, job->a_row, job->b + b + k, depth,
                                   k > 0);
            continue;
        }
        pack_panel(job, job->b + b + k * job->b_k + column * job->b_column, columns, depth, panel);
        job->simd->double_rows(&(tort_double_rows){.a = job->a + a + row * job->a_row + k * job->a_k,
                                                   .a_row = job->a_row,
                                                   .a_k = job->a_k,
                                                   .panel = panel,
                                                   .k = depth,
                                                   .y = y,
                                                   .y_row = job->n,
                                                   .rows = rows,
                                                   .columns = columns,
                                                   .adds = k > 0});
    }
    if (job->gemm && (job->gemm->alpha != 1 || job->gemm->has_c)) finish_rows(job, row, rows, column, columns);
}

static void make_part(void *arg, int64_t begin, int64_t end) {
    const double_job *job = arg;
    for (int64_t part = begin; part < end; part++) {
        int64_t item, last;
        tort_cpu_share(job->items, 1, part, job->parts, &item, &last);
        for (; item < last && tort_call_goes_on(job->call, 0); item++)
            make_item(job, item, job->buffers + part * DEPTH * MAX_PANEL);
    }
}

static tort_status run_job(const tort_call *call, double_job *job, int64_t batches) {
    const tort_cpu_device *device = call->device;
    job->call = call;
    job->simd = device->simd;
    job->a = call->inputs[0].data;
    job->b = call->inputs[1].data;
    job->y = call->outputs[0].data;
    job->buffers = call->scratch;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    job->panels = (job->n + device->simd->double_columns - 1) / device->simd->double_columns;
    job->groups = (job->m + ROWS - 1) / ROWS;
    job->items = batches * job->panels * job->groups;
    const int64_t work = tort_work(ROWS, 4 * MAX_PANEL, job->k); /* of an item */
    job->parts = tort_cpu_threads(device, job->items < INT32_MAX ? job->items * work : INT64_MAX / 2);
    tort_cpu_parts(call, job->parts, make_part, job);
    return TORT_OK;
}

static tort_status run_matmul(const tort_call *call) {
    const tort_matmul_params *p = call->params;
    double_job job = {.batch = p,
                      .m = p->m,
                      .n = p->n,
                      .k = p->k,
                      .a_row = p->a_row,
                      .a_k = p->a_column,
                      .b_k = p->b_row,
                      .b_column = p->b_column};
    return run_job(call, &job, p->batches);
}

static tort_status run_fused_matmul(const tort_call *call) {
    const tort_matmul_params *p = call->params;
    const tort_status status = run_matmul(call);
    if (!status) tort_epilogue_run(call, &p->epilogue, tort_call_input(call, 2));
    return status;
}

static tort_status run_gemm(const tort_call *call) {
    const tort_gemm_params *p = call->params;
    double_job job = {.gemm = p,
                      .m = p->m,
                      .n = p->n,
                      .k = p->k,
                      .a_row = p->trans_a ? 1 : p->k,
                      .a_k = p->trans_a ? p->m : 1,
                      .b_k = p->trans_b ? 1 : p->n,
                      .b_column = p->trans_b ? p->k : 1};
    return run_job(call, &job, 1);
}

static tort_status run_fused_gemm(const tort_call *call) {
    const tort_gemm_params *p = call->params;
    const tort_status status = run_gemm(call);
    if (!status) tort_epilogue_run(call, &p->epilogue, NULL);
    return status;
}

const tort_kernel tort_cpu_product_doubles[] = {
    {"", "MatMul", "matmul_doubles", .claim = claim, .size = size, .run = run_matmul},
    {"", "Gemm", "gemm_doubles", .claim = claim, .size = size, .run = run_gemm},
    {"tinyort", "FusedMatMul", "matmul_doubles", .claim = claim, .size = size, .run = run_fused_matmul},
    {"tinyort", "FusedGemm", "gemm_doubles", .claim = claim, .size = size, .run = run_fused_gemm},
    {.op = NULL},
};
