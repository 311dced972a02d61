/* integer_matmul.c - MatMulInteger and QLinearMatMul: MatMul of quantized matrices; of com.microsoft MatMulInteger16,
 * MatMulIntegerToFloat, and DynamicQuantizeMatMul, which quantizes A itself.
 *
 * A zero point or scale is one number, or one per row of A or column of B (a vector, or a tensor that broadcasts). The
 * sum of MatMulInteger wraps to int32. Read next: quantized.h. */
#include "ops/integer_matmul.h"

#include "ops/quantize.h"
#include "ops/quantized.h"
#include "ops/shapes.h"

/* ---- infer and resolve ------------------------------------------------------------------------------------------- */

const tort_integer_inputs tort_integer_matmul_inputs[] = {
    [TORT_MATMUL_INTEGER] = {0, -1, 2, 1, -1, 3, -1, -1, -1, false},
    [TORT_MATMUL_INTEGER16] = {0, -1, -1, 1, -1, -1, -1, -1, -1, false},
    [TORT_MATMUL_LINEAR] = {0, 1, 2, 3, 4, 5, 6, 7, -1, false},
    [TORT_MATMUL_BIASED] = {0, 1, 2, 3, 4, 5, 6, 7, 8, false},
    [TORT_MATMUL_TO_FLOAT] = {0, 2, 4, 1, 3, 5, -1, -1, 6, false},
    [TORT_MATMUL_DYNAMIC] = {0, -1, -1, 1, 2, 3, -1, -1, 4, true},
};

/* Checks that a vector of scales or zero points, input i, has one number for each of the `count` rows or columns; an
 * unknown count passes. */
static tort_status check_vector(tort_infer *infer, int32_t i, tort_dim count, const char *name) {
    if (!tort_has_input(infer->node, i)) return TORT_OK;
    const tort_info *info = &infer->node->inputs[i];
    if (info->rank != 1 || !tort_dim_known(info->dims[0]) || info->dims[0] == 1) return TORT_OK;
    if (!tort_dim_known(count) || info->dims[0] == count) return TORT_OK;
    return tort_fail(infer->error, TORT_E_MODEL, "%s has %lld elements, expected 1 or %lld", name,
                     (long long)info->dims[0], (long long)count);
}

/* Rows of A and columns of B; a vector A is one row, a vector B one column. */
static tort_dim rows_of(const tort_info *a) {
    return a->rank > 1 ? a->dims[a->rank - 2] : 1;
}
static tort_dim columns_of(const tort_info *b) {
    return b->rank > 1 ? b->dims[b->rank - 1] : 1;
}

/* Checks that a scale or zero point of A (`of_a`) or B broadcasts to that matrix. */
static tort_status check_operand(tort_infer *infer, int32_t operand, int32_t i, bool of_a, const char *name) {
    const tort_info *matrix = &infer->node->inputs[operand];
    if (!tort_has_input(infer->node, i) || matrix->rank < 0 || infer->node->inputs[i].rank < 0) return TORT_OK;
    const tort_info *numbers = &infer->node->inputs[i];
    if (numbers->rank <= 1) {
        return check_vector(infer, i, of_a ? rows_of(matrix) : columns_of(matrix), name);
    }
    for (int32_t d = 0; d < numbers->rank; d++) {
        int32_t own = d + matrix->rank - numbers->rank;
        tort_dim size = numbers->dims[d], wanted = own >= 0 ? matrix->dims[own] : 1;
        bool summed = d == numbers->rank - (of_a ? 1 : 2); /* one number for the whole summed axis */
        if (summed) wanted = 1;
        if (!tort_dim_known(size) || !tort_dim_known(wanted) || size == 1 || size == wanted) continue;
        return tort_fail(infer->error, TORT_E_MODEL, "%s has %lld elements along dimension %d, expected 1 or %lld",
                         name, (long long)size, d, (long long)wanted);
    }
    return TORT_OK;
}

static tort_status infer_product(tort_infer *infer, tort_type type) {
    const tort_integer_inputs *in = tort_integer_inputs_of(infer->node->op);
    const struct {
        int32_t operand, input;
        const char *name;
    } numbers[] = {{in->a, in->a_scale, "the scale of A"},
                   {in->a, in->a_zero, "the zero point of A"},
                   {in->b, in->b_scale, "the scale of B"},
                   {in->b, in->b_zero, "the zero point of B"}};
    const int32_t from[2] = {in->a, in->b};
    tort_status status = tort_operands_infer(infer, 2, from, type, tort_infer_matmul);
    for (int32_t i = 0; status == TORT_OK && i < 4; i++)
        if (numbers[i].input >= 0)
            status = check_operand(infer, numbers[i].operand, numbers[i].input, i < 2, numbers[i].name);
    return status;
}

/* MatMulInteger, and MatMulInteger16, whose sums are unsigned if both operands are. */
static tort_status infer_integer(tort_infer *infer) {
    const tort_info *in = infer->node->inputs;
    return infer_product(infer, in[0].type == TORT_UINT16 && in[1].type == TORT_UINT16 ? TORT_UINT32 : TORT_INT32);
}

static tort_status infer_linear(tort_infer *infer) {
    tort_status status = infer_product(infer, infer->node->inputs[7].type);
    if (status == TORT_OK) status = tort_check_single(infer->node, 6, "y_scale", infer->error);
    return status != TORT_OK ? status : tort_check_single(infer->node, 7, "y_zero_point", infer->error);
}

static tort_status infer_floats(tort_infer *infer) {
    const tort_integer_inputs *in = tort_integer_inputs_of(infer->node->op);
    tort_status status = infer_product(infer, infer->node->inputs[in->b_scale].type);
    const tort_info *b = &infer->node->inputs[in->b];
    const int32_t rank = tort_has_input(infer->node, in->bias) ? infer->node->inputs[in->bias].rank : 1;
    if (status == TORT_OK && rank > 1)
        return tort_fail(infer->error, TORT_E_MODEL, "bias has rank %d, expected a list of the columns of B", rank);
    return status != TORT_OK || b->rank < 1 ? status : check_vector(infer, in->bias, columns_of(b), "bias");
}

static tort_status resolve_product(tort_resolve *resolve) {
    const tort_integer_inputs *in = tort_integer_inputs_of(resolve->node->op);
    const int32_t from[2] = {in->a, in->b};
    return tort_operands_resolve(resolve, 2, from, tort_resolve_matmul);
}

/* ---- the product ------------------------------------------------------------------------------------------------- */

/* Dimensions of 1 to append: a vector for the rows of A broadcasts as a column, unless Y has no columns. */
static int32_t behind(const tort_call *call, int32_t i, bool columns) {
    return columns && i >= 0 && i < call->input_count && call->inputs[i].rank == 1;
}

/* Quantizes A: its floats become integers in the range of uint8, less their zero point, stored as floats. */
typedef struct dynamic_job {
    const float *a;
    float *out, scale, zero;
} dynamic_job;

static void round_block(void *arg, int64_t begin, int64_t end) {
    const dynamic_job *job = arg;
    const float min = -job->zero, max = 255 - job->zero, scale = job->scale > 0 ? job->scale : 1, round = 0x1.8p23f;
    for (int64_t i = begin; i < end; i++) {
        const float x = job->a[i] / scale, above = x > min ? x : min;
        job->out[i] = ((above < max ? above : max) + round) - round;
    }
}

static float round_operand(const tort_call *call, const tort_tensor *a, float *out) {
    dynamic_job job = {.a = a->data, .out = out};
    tort_dynamic_scale(call->watch, a->data, tort_count(a), &job.scale, &job.zero);
    tort_parallel(call, tort_count(a), 1, round_block, &job);
    return job.scale;
}

/* Removes the summed axis, of one element, from a scale with the axes of its matrix: Y has no such axis if the other
 * operand is a vector. `from_end`: 1 is the last. */
static void drop_summed(tort_tensor *scale, int32_t from_end) {
    if (scale->rank < 2) return;
    for (int32_t d = scale->rank - from_end; d + 1 < scale->rank; d++) scale->dims[d] = scale->dims[d + 1];
    scale->rank--;
}

static void open_scales(const tort_call *call, const tort_integer_inputs *in, tort_integer_product *product) {
    const tort_tensor *left = &call->inputs[in->a], *right = &call->inputs[in->b];
    if (in->b_scale < 0) return;
    product->b_scale = tort_optional_input(call, in->b_scale, 0, &product->scales[1]);
    if (left->rank == 1) drop_summed(&product->scales[1], 2);
    product->a_scale = &product->scales[0];
    if (in->dynamic)
        product->scales[0] = (tort_tensor){.type = TORT_FLOAT, .data = &product->dynamic_scale};
    else
        tort_optional_input(call, in->a_scale, behind(call, in->a_scale, right->rank > 1), &product->scales[0]);
    if (right->rank == 1) drop_summed(&product->scales[0], 1);
    if (in->bias >= 0) product->bias = tort_call_input(call, in->bias);
    product->quantized = in->y_scale >= 0;
    if (!product->quantized) return;
    tort_load_floats(call->inputs[in->y_scale].type, call->inputs[in->y_scale].data, 0, 1, &product->y_scale);
    tort_load_floats(call->inputs[in->y_zero].type, call->inputs[in->y_zero].data, 0, 1, &product->y_zero_point);
}

void tort_integer_product_open(const tort_call *call, const tort_integer_inputs *in, float *floats,
                               tort_integer_product *product) {
    const tort_tensor *left = &call->inputs[in->a], *right = &call->inputs[in->b];
    float *a_out = floats, *b_out = floats + tort_count(left);
    tort_tensor zero;
    *product = (tort_integer_product){.call = call, .params = call->params, .y = &call->outputs[0]};
    open_scales(call, in, product);
    product->loop = tort_loop_broadcast(product->y, product->scales, product->b_scale ? 2 : 0);
    if (product->loop.count == 0) return;
    if (in->dynamic) {
        product->dynamic_scale = round_operand(call, left, a_out);
    } else {
        const tort_tensor *a_zeros = tort_optional_input(call, in->a_zero, behind(call, in->a_zero, true), &zero);
        tort_subtract_zero_point(call, left, a_zeros, a_out);
    }
    product->a = a_out;
    if (!right->data) return;
    tort_subtract_zero_point(call, right, tort_optional_input(call, in->b_zero, 0, &zero), b_out);
    product->b = b_out;
}

/* Adds the bias of their columns to the sums, if there is one. */
static void add_bias(const tort_integer_product *p, int64_t first, int64_t count, double *sums) {
    double bias[TORT_BLOCK];
    if (!p->bias) return;
    const bool one = tort_count(p->bias) == 1;
    tort_load_doubles(p->bias->type, p->bias->data, one ? 0 : first % p->params->n, one ? 1 : count, bias);
    for (int64_t i = 0; i < count; i++) sums[i] += bias[one ? 0 : i];
}

static void finish(const tort_integer_product *p, const tort_loop *loop, int64_t first, int64_t count,
                   const int64_t *offsets, double *sums) {
    float factor[TORT_BLOCK], zero_point[TORT_BLOCK], a[TORT_BLOCK], b[TORT_BLOCK];
    if (p->a_scale == NULL) {
        for (int64_t i = 0; i < count; i++) ((int32_t *)p->y->data)[first + i] = (int32_t)(uint32_t)(int64_t)sums[i];
        return;
    }
    int64_t a_step = loop->steps[0], b_step = loop->steps[1];
    tort_load_floats(p->a_scale->type, p->a_scale->data, offsets[0], a_step ? count : 1, a);
    tort_load_floats(p->b_scale->type, p->b_scale->data, offsets[1], b_step ? count : 1, b);
    for (int64_t i = 0; i < count; i++) {
        factor[i] = a[i * a_step] * b[i * b_step] / (p->quantized ? p->y_scale : 1);
        zero_point[i] = p->y_zero_point;
    }
    for (int64_t i = 0; !p->quantized && i < count; i++) sums[i] *= (double)factor[i];
    add_bias(p, first, count, sums);
    if (!p->quantized) {
        tort_store_doubles(p->y->type, p->y->data, first, count, sums);
        return;
    }
    tort_requantize(p->y, first, count, sums, factor, zero_point);
}

/* Computes elements of Y in pieces that lie in one row of it. */
static void product_row(void *arg, const tort_loop *loop, int64_t first, int64_t count, const int64_t *offsets) {
    const tort_integer_product *p = arg;
    double sums[TORT_BLOCK];
    for (int64_t at = 0; at < count;) {
        int64_t piece = p->params->n - (first + at) % p->params->n, starts[TORT_LOOP_OPERANDS] = {0};
        if (piece > count - at) piece = count - at;
        if (piece > TORT_BLOCK) piece = TORT_BLOCK;
        for (int32_t k = 0; k < loop->operands; k++) starts[k] = offsets[k] + at * loop->steps[k];
        p->sums(p, first + at, piece, sums);
        finish(p, loop, first + at, piece, starts, sums);
        at += piece;
    }
}

void tort_integer_product_finish(const tort_call *call, const tort_integer_product *product, int64_t work) {
    tort_integer_product copy = *product;
    tort_loop_parallel(call, &copy.loop, work, product_row, &copy);
}

/* ---- reference --------------------------------------------------------------------------------------------------- */

static void multiply(const tort_integer_product *p, int64_t first, int64_t count, double *sums) {
    const tort_matmul_params *shape = p->params;
    int64_t row = first / shape->n, column = first % shape->n, a, b;
    tort_matmul_offsets(shape, row / shape->m, &a, &b);
    const tort_product_row r = {.watch = p->call->watch,
                                .a = p->a,
                                .b = p->b,
                                .k = shape->k,
                                .a_first = a + row % shape->m * shape->k,
                                .a_step = 1,
                                .b_first = b + column,
                                .b_row_step = shape->n,
                                .b_column_step = 1};
    tort_product_floats(TORT_FLOAT, &r, count, sums);
}

static tort_status run_with(const tort_call *call, const tort_integer_inputs *in) {
    tort_integer_product p;
    tort_integer_product_open(call, in, call->scratch, &p);
    p.sums = multiply;
    tort_integer_product_finish(call, &p, 8 * p.params->k + 16);
    return TORT_OK;
}

static tort_status run(const tort_call *call) {
    return run_with(call, tort_integer_inputs_of(call->op));
}

tort_status tort_run_matmul_to_float(const tort_call *call) {
    return run_with(call, &tort_integer_matmul_inputs[TORT_MATMUL_TO_FLOAT]);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define BY(kind, infer_)                                                                                               \
    .variant = TORT_MATMUL_##kind, .params_size = sizeof(tort_matmul_params), .infer = infer_,                         \
    .resolve = resolve_product, .reference = run

const tort_op tort_ops_integer_matmul[] = {
    {"", "MatMulInteger", 10, TORT_NEWEST_OPSET, "A:T1 B:T2 a_zero_point?:T1 b_zero_point?:T2", "Y:T3",
     "T1=int8|uint8 T2=int8|uint8 T3=int32", "", BY(INTEGER, infer_integer)},
    {"", "QLinearMatMul", 10, 20,
     "a:T1 a_scale:float a_zero_point:T1 b:T2 b_scale:float b_zero_point:T2 y_scale:float y_zero_point:T3", "y:T3",
     "T1=int8|uint8 T2=int8|uint8 T3=int8|uint8", "", BY(LINEAR, infer_linear)},
    {"", "QLinearMatMul", 21, TORT_NEWEST_OPSET,
     "a:T1 a_scale:TS a_zero_point:T1 b:T2 b_scale:TS b_zero_point:T2 y_scale:TS y_zero_point:T3", "y:T3",
     "TS=floats13|-double T1=quantized19 T2=quantized19 T3=quantized19", "", BY(LINEAR, infer_linear)},
    {"tinyort", "QLinearMatMul", 1, 1,
     "a:T1 a_scale:float a_zero_point:T1 b:T2 b_scale:float b_zero_point:T2 y_scale:float y_zero_point:T3 C:int32",
     "y:T3", "T1=int8|uint8 T2=int8|uint8 T3=int8|uint8", "", BY(BIASED, infer_linear)},
    {"com.microsoft", "MatMulInteger16", 1, 1, "A:T1 B:T2", "Y:T3", "T1=int16|uint16 T2=int16|uint16 T3=int32|uint32",
     "", BY(INTEGER16, infer_integer)},
    {"com.microsoft", "MatMulIntegerToFloat", 1, 1,
     "A:T1 B:T2 a_scale:T3 b_scale:T3 a_zero_point?:T1 b_zero_point?:T2 bias?:T3", "Y:T3",
     "T1=int8|uint8 T2=int8|uint8 T3=float|float16", "", BY(TO_FLOAT, infer_floats)},
    {"com.microsoft", "DynamicQuantizeMatMul", 1, 1, "A:T1 B:T2 b_scale:T1 b_zero_point?:T2 bias?:T1", "Y:T1",
     "T1=float T2=int8|uint8", "", BY(DYNAMIC, infer_floats)},
    {0},
};
