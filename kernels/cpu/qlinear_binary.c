/* qlinear_binary.c - QLinearAdd and QLinearMul: rows of two broadcast tensors of 8-bit numbers.
 *
 * Read next: ops/microsoft/qlinear_elementwise.c for the meaning; simd/integers.c. */
#include "kernels/cpu/cpu.h"
#include "ops/microsoft/qlinear.h"

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    (void)node;
    return tort_cpu_claim_processor(target);
}

typedef struct pair_job {
    const tort_simd *simd;
    tort_tensor inputs[2];
    uint8_t *c;
    tort_linear_pair pair; /* of any row */
} pair_job;

static void pair_row(void *arg, const tort_loop *loop, int64_t first, int64_t count, const int64_t *offsets) {
    const pair_job *job = arg;
    tort_linear_pair pair = job->pair;
    pair.a = (const uint8_t *)job->inputs[0].data + offsets[0];
    pair.b = (const uint8_t *)job->inputs[1].data + offsets[1];
    pair.a_step = loop->steps[0];
    pair.b_step = loop->steps[1];
    pair.c = job->c + first;
    job->simd->linear_pair(&pair, count);
}

/* Short rows: operands are laid out first. */
static void pair_piece(void *arg, const tort_loop *loop, int64_t first, int64_t count) {
    const pair_job *job = arg;
    uint8_t a[TORT_BLOCK], b[TORT_BLOCK];
    tort_linear_pair pair = job->pair;
    tort_loop_gather(loop, 0, first, count, 1, job->inputs[0].data, a);
    tort_loop_gather(loop, 1, first, count, 1, job->inputs[1].data, b);
    pair.a = a;
    pair.b = b;
    pair.a_step = pair.b_step = 1;
    pair.c = job->c + first;
    job->simd->linear_pair(&pair, count);
}

static tort_status run(const tort_call *call, const tort_linear_pair *pair) {
    const tort_cpu_device *device = call->device;
    const tort_tensor *c = &call->outputs[0];
    pair_job job = {.simd = device->simd,
                    .inputs = {call->inputs[TORT_QLINEAR_A], call->inputs[TORT_QLINEAR_B]},
                    .c = c->data,
                    .pair = *pair};
    job.pair.is_signed = c->type == TORT_INT8;
    tort_loop loop = tort_loop_broadcast(c, job.inputs, 2);
    if (loop.count == 0) return TORT_OK;
    if (tort_loop_short(&loop))
        tort_loop_pieces(call, &loop, 16, pair_piece, &job);
    else
        tort_loop_parallel(call, &loop, 4, pair_row, &job);
    return TORT_OK;
}

static tort_status run_add(const tort_call *call) {
    const tort_sum_of_linear sum = tort_linear_sum(call);
    const tort_linear_pair pair = {.a_number = sum.a, .b_number = sum.b, .fixed = sum.fixed};
    return run(call, &pair);
}

static tort_status run_multiply(const tort_call *call) {
    const tort_linear a = tort_linear_of(call, TORT_QLINEAR_A + 1, TORT_QLINEAR_A + 2),
                      b = tort_linear_of(call, TORT_QLINEAR_B + 1, TORT_QLINEAR_B + 2),
                      c = tort_linear_of(call, TORT_QLINEAR_C, TORT_QLINEAR_C + 1);
    const tort_linear_pair pair = {.a_number = a.zero,
                                   .b_number = b.zero,
                                   .fixed = a.scale * b.scale / c.scale,
                                   .zero = c.zero,
                                   .multiplies = true};
    return run(call, &pair);
}

#define ROW(op_, run_)                                                                                                 \
    {                                                                                                                  \
        .domain = "com.microsoft", .op = op_, .name = "qlinear_binary", .claim = claim, .run = run_,                   \
        .layout = TORT_ANY_LAYOUT, .layout_inputs = 1u << TORT_QLINEAR_A | 1u << TORT_QLINEAR_B, .layout_outputs = 1   \
    }

const tort_kernel tort_cpu_qlinear_binary[] = {
    ROW("QLinearAdd", run_add),
    ROW("QLinearMul", run_multiply),
    {.op = NULL},
};
