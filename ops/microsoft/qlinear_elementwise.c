/* qlinear_elementwise.c - QLinearAdd, QLinearMul, QLinearWhere and MulInteger: two tensors of 8-bit numbers, broadcast.
 *
 * QLinearAdd follows ONNX Runtime: all zero points are gathered in one number before the sum is rounded, so that an odd
 * zero point decides where a sum is halfway between two numbers. Read next: qlinear.h. */
#include "ops/microsoft/qlinear.h"

#include "ops/quantized.h"
#include "ops/shapes.h"

static const int32_t linear_operands[] = {0, 3}, integer_operands[] = {0, 2}, where_operands[] = {0, 1, 4};

static tort_status infer_operands(tort_infer *infer, int32_t count, const int32_t *from, uint32_t singles,
                                  tort_type type) {
    tort_status status = tort_operands_infer(infer, count, from, type, tort_infer_binary);
    return status == TORT_OK ? tort_linear_check(infer, singles) : status;
}

static tort_status infer_linear(tort_infer *infer) {
    return infer_operands(infer, 2, linear_operands, 0xf6, infer->node->inputs[0].type);
}
static tort_status infer_integer(tort_infer *infer) {
    return infer_operands(infer, 2, integer_operands, 0x0a, TORT_INT32);
}
static tort_status infer_where(tort_infer *infer) {
    return infer_operands(infer, 3, where_operands, 0x1ec, infer->node->inputs[1].type);
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

typedef struct binary_job binary_job;
struct binary_job {
    tort_tensor inputs[3];
    const tort_tensor *y;
    /* Computes elements first .. first+count-1 of y, at most TORT_BLOCK. */
    void (*combine)(const binary_job *job, int64_t first, int64_t count, const float *a, const float *b);
    tort_sum_of_linear sum; /* of QLinearAdd */
    float factor;           /* of QLinearMul */
    float zeros[3];         /* A, B, C */
};

/* Loads `count` elements of an operand, from `offset` on; `step` 0: one for all. */
static void load(const tort_tensor *x, int64_t offset, int64_t step, int64_t count, float *out) {
    tort_load_floats(x->type, x->data, offset, step ? count : 1, out);
    for (int64_t i = 1; !step && i < count; i++) out[i] = out[0];
}

static void binary_row(void *arg, const tort_loop *loop, int64_t first, int64_t count, const int64_t *offsets) {
    const binary_job *job = arg;
    float a[TORT_BLOCK], b[TORT_BLOCK];
    for (int64_t at = 0; at < count; at += TORT_BLOCK) {
        const int64_t n = tort_block_count(count, at);
        load(&job->inputs[0], offsets[0] + at * loop->steps[0], loop->steps[0], n, a);
        load(&job->inputs[1], offsets[1] + at * loop->steps[1], loop->steps[1], n, b);
        job->combine(job, first + at, n, a, b);
    }
}

static tort_status run_binary(const tort_call *call, binary_job *job, const int32_t *from) {
    job->y = &call->outputs[0];
    for (int32_t i = 0; i < 2; i++) job->inputs[i] = call->inputs[from[i]];
    tort_loop loop = tort_loop_broadcast(job->y, job->inputs, 2);
    if (loop.count > 0) tort_loop_parallel(call, &loop, 32, binary_row, job);
    return TORT_OK;
}

/* ---- addition ---------------------------------------------------------------------------------------------------- */

/* The order of roundings is that of MlasQLinearAdd in ONNX Runtime. */
tort_sum_of_linear tort_linear_sum(tort_linear a, tort_linear b, tort_linear c) {
    tort_sum_of_linear sum = {.a = a.scale / c.scale, .b = b.scale / c.scale};
    sum.fixed = c.zero - (sum.a * a.zero + sum.b * b.zero);
    return sum;
}

tort_sum_of_linear tort_linear_sum_of(const tort_call *call) {
    return tort_linear_sum(tort_linear_of(call, TORT_QLINEAR_A + 1, TORT_QLINEAR_A + 2),
                           tort_linear_of(call, TORT_QLINEAR_B + 1, TORT_QLINEAR_B + 2),
                           tort_linear_of(call, TORT_QLINEAR_C, TORT_QLINEAR_C + 1));
}

static void add(const binary_job *job, int64_t first, int64_t count, const float *a, const float *b) {
    const tort_sum_of_linear sum = job->sum;
    float x[TORT_BLOCK];
    for (int64_t i = 0; i < count; i++) x[i] = a[i] * sum.a + (b[i] * sum.b + sum.fixed);
    tort_linear_store(job->y, first, count, x, 0);
}

static tort_status run_add(const tort_call *call) {
    binary_job job = {.combine = add, .sum = tort_linear_sum_of(call)};
    return run_binary(call, &job, linear_operands);
}

/* ---- multiplication ---------------------------------------------------------------------------------------------- */

static void multiply(const binary_job *job, int64_t first, int64_t count, const float *a, const float *b) {
    float x[TORT_BLOCK];
    for (int64_t i = 0; i < count; i++) x[i] = (a[i] - job->zeros[0]) * (b[i] - job->zeros[1]) * job->factor;
    tort_linear_store(job->y, first, count, x, job->zeros[2]);
}

static tort_status run_multiply(const tort_call *call) {
    const tort_linear a = tort_linear_of(call, TORT_QLINEAR_A + 1, TORT_QLINEAR_A + 2),
                      b = tort_linear_of(call, TORT_QLINEAR_B + 1, TORT_QLINEAR_B + 2),
                      c = tort_linear_of(call, TORT_QLINEAR_C, TORT_QLINEAR_C + 1);
    binary_job job = {.combine = multiply, .zeros = {a.zero, b.zero, c.zero}, .factor = a.scale * b.scale / c.scale};
    return run_binary(call, &job, linear_operands);
}

static void multiply_integers(const binary_job *job, int64_t first, int64_t count, const float *a, const float *b) {
    int32_t *y = (int32_t *)job->y->data + first;
    for (int64_t i = 0; i < count; i++) y[i] = (int32_t)((a[i] - job->zeros[0]) * (b[i] - job->zeros[1]));
}

static tort_status run_integer(const tort_call *call) {
    binary_job job = {.combine = multiply_integers};
    for (int32_t i = 0; i < 2; i++) {
        const tort_tensor *zero = tort_call_input(call, integer_operands[i] + 1);
        if (zero) tort_load_floats(zero->type, zero->data, 0, 1, &job.zeros[i]);
    }
    return run_binary(call, &job, integer_operands);
}

/* ---- choice ------------------------------------------------------------------------------------------------------ */

typedef struct where_job {
    tort_tensor inputs[3];
    uint8_t *z;
    uint8_t x[256], y[256]; /* tables: bytes of X and Y as bytes of Z */
} where_job;

static void where_row(void *arg, const tort_loop *loop, int64_t first, int64_t count, const int64_t *offsets) {
    const where_job *job = arg;
    const uint8_t *c = (const uint8_t *)job->inputs[0].data + offsets[0];
    const uint8_t *x = (const uint8_t *)job->inputs[1].data + offsets[1];
    const uint8_t *y = (const uint8_t *)job->inputs[2].data + offsets[2];
    for (int64_t i = 0; i < count; i++) {
        const uint8_t yes = job->x[x[i * loop->steps[1]]], no = job->y[y[i * loop->steps[2]]];
        job->z[first + i] = c[i * loop->steps[0]] ? yes : no;
    }
}

static tort_status run_where(const tort_call *call) {
    const tort_linear x = tort_linear_of(call, 2, 3), y = tort_linear_of(call, 5, 6), z = tort_linear_of(call, 7, 8);
    where_job job = {.z = call->outputs[0].data};
    for (int32_t i = 0; i < 3; i++) job.inputs[i] = call->inputs[where_operands[i]];
    tort_linear_convert(call->outputs[0].type, x, z, job.x);
    tort_linear_convert(call->outputs[0].type, y, z, job.y);
    tort_loop loop = tort_loop_broadcast(&call->outputs[0], job.inputs, 3);
    if (loop.count > 0) tort_loop_parallel(call, &loop, 24, where_row, &job);
    return TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define BINARY "A:T A_scale:float A_zero_point?:T B:T B_scale:float B_zero_point?:T C_scale:float C_zero_point?:T"

const tort_op tort_ops_qlinear_elementwise[] = {
    {"com.microsoft", "QLinearAdd", 1, 1, BINARY, "C:T", "T=uint8|int8", "", .flags = TORT_OP_IN_PLACE,
     .infer = infer_linear, .reference = run_add},
    {"com.microsoft", "QLinearMul", 1, 1, BINARY, "C:T", "T=uint8|int8", "", .flags = TORT_OP_IN_PLACE,
     .infer = infer_linear, .reference = run_multiply},
    {"com.microsoft", "QLinearWhere", 1, 1,
     "condition:B X:T x_scale:TF x_zero_point:T Y:T y_scale:TF y_zero_point:T z_scale:TF z_zero_point:T", "Z:T",
     "B=bool TF=float T=uint8|int8", "", .infer = infer_where, .reference = run_where},
    {"com.microsoft", "MulInteger", 1, 1, "A:T A_zero_point?:T B:T B_zero_point?:T", "C:T1", "T=uint8|int8 T1=int32",
     "", .infer = infer_integer, .reference = run_integer},
    {0},
};
