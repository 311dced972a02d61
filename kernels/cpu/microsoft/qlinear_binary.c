/* qlinear_binary.c - QLinearAdd and QLinearMul: rows of two broadcast tensors of 8-bit integers.
 *
 * Read next: ops/microsoft/qlinear_elementwise.c for the meaning; simd/integers.c. */
#include "kernels/cpu/blocked.h"
#include "ops/microsoft/qlinear.h"

#include <string.h>

typedef struct pair_job {
    const tort_simd *simd;
    tort_tensor inputs[2];
    uint8_t *c;
    tort_linear_pair pair; /* the fields that are the same for all rows */
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

/* Makes some short rows: their operands are gathered first. */
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

/* ---- one number a channel, over blocks of channels ----------------------------------------------------------------
 */

static bool is_list_of_channels(const tort_info *list, const tort_info *x) {
    bool is = list->rank == x->rank && list->dims[0] == x->dims[0] && list->dims[1] == x->dims[1];
    for (int32_t d = 2; is && d < list->rank; d++) is = list->dims[d] == 1;
    return is;
}

/* Accepts a list of channels as either operand; the other one has the shape of the result. */
static tort_verdict claim_channels(const tort_target *target, const tort_node_view *node) {
    const tort_info *a = &node->inputs[TORT_QLINEAR_A], *b = &node->inputs[TORT_QLINEAR_B], *c = &node->outputs[0];
    if (c->rank < 3 || c->rank > 5 || a->rank != c->rank || b->rank != c->rank || !tort_shape_known(c) ||
        c->dims[1] < TORT_LANES || !(is_list_of_channels(a, c) || is_list_of_channels(b, c)))
        return tort_no(TORT_NO_SHAPE, "", "is for a picture of %d channels and more, and one number for each",
                       TORT_LANES);
    for (int32_t d = 0; d < c->rank; d++)
        if (c->dims[d] != (is_list_of_channels(a, c) ? b : a)->dims[d])
            return tort_no(TORT_NO_SHAPE, "", "is for a picture of the shape of the result");
    return tort_cpu_claim_any(target, node);
}

#define PIXELS 32 /* for which a list is repeated */

typedef struct channels_job {
    const tort_simd *simd;
    const uint8_t *list, *x;
    uint8_t *y;
    int64_t blocks, pixels;
    tort_linear_pair pair;
    bool list_first;
} channels_job;

/* Makes `count` pixels of a block, counted over the whole batch. */
static void combine_block(const channels_job *job, int64_t block, int64_t first, int64_t count) {
    tort_linear_pair pair = job->pair;
    uint8_t numbers[PIXELS * TORT_LANES];
    pair.a_step = pair.b_step = 1;
    for (int64_t i = 0; i < PIXELS; i++) memcpy(numbers + i * TORT_LANES, job->list + block * TORT_LANES, TORT_LANES);
    for (int64_t p = 0; p < count; p += PIXELS) {
        const int64_t at = (block * job->pixels + first + p) * TORT_LANES;
        pair.a = job->list_first ? numbers : job->x + at;
        pair.b = job->list_first ? job->x + at : numbers;
        pair.c = job->y + at;
        job->simd->linear_pair(&pair, tort_min(PIXELS, count - p) * TORT_LANES);
    }
}

/* Makes pixels of all pictures of the batch, each in all blocks, shared as convolutions share them. */
static void combine_pixels(void *arg, int64_t begin, int64_t end) {
    const channels_job *job = arg;
    for (int64_t last; begin < end; begin = last) {
        const int64_t n = begin / job->pixels, first = begin % job->pixels;
        last = tort_min(end, begin - first + job->pixels);
        for (int64_t block = 0; block < job->blocks; block++)
            combine_block(job, n * job->blocks + block, first, last - begin);
    }
}

static tort_status run_channels(const tort_call *call, const tort_linear_pair *pair) {
    const tort_cpu_device *device = call->device;
    const tort_tensor *a = &call->inputs[TORT_QLINEAR_A], *b = &call->inputs[TORT_QLINEAR_B], *c = &call->outputs[0];
    const bool list_first = tort_pixels(a) == 1;
    channels_job job = {.simd = device->simd,
                        .list = (list_first ? a : b)->data,
                        .x = (list_first ? b : a)->data,
                        .y = c->data,
                        .blocks = tort_blocks(c->dims[1]),
                        .pixels = tort_pixels(c),
                        .pair = *pair,
                        .list_first = list_first};
    job.pair.is_signed = c->type == TORT_INT8;
    if (tort_count(c) > 0) tort_parallel(call, c->dims[0] * job.pixels, job.blocks * 8, combine_pixels, &job);
    return TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static tort_linear_pair sum_of(const tort_call *call) {
    const tort_sum_of_linear sum = tort_linear_sum_of(call);
    return (tort_linear_pair){.a_number = sum.a, .b_number = sum.b, .fixed = sum.fixed};
}

static tort_linear_pair product_of(const tort_call *call) {
    const tort_linear a = tort_linear_of(call, TORT_QLINEAR_A + 1, TORT_QLINEAR_A + 2),
                      b = tort_linear_of(call, TORT_QLINEAR_B + 1, TORT_QLINEAR_B + 2),
                      c = tort_linear_of(call, TORT_QLINEAR_C, TORT_QLINEAR_C + 1);
    return (tort_linear_pair){.a_number = a.zero,
                              .b_number = b.zero,
                              .fixed = a.scale * b.scale / c.scale,
                              .zero = c.zero,
                              .multiplies = true};
}

static tort_status run_add(const tort_call *call) {
    const tort_linear_pair pair = sum_of(call);
    return run(call, &pair);
}

static tort_status run_multiply(const tort_call *call) {
    const tort_linear_pair pair = product_of(call);
    return run(call, &pair);
}

static tort_status add_channels(const tort_call *call) {
    const tort_linear_pair pair = sum_of(call);
    return run_channels(call, &pair);
}

static tort_status multiply_channels(const tort_call *call) {
    const tort_linear_pair pair = product_of(call);
    return run_channels(call, &pair);
}

#define BLOCKED_ROW(op_, run_)                                                                                         \
    {                                                                                                                  \
        .domain = "com.microsoft", .op = op_, .name = "qlinear_channels_blocked", .claim = claim_channels,             \
        .run = run_, .layout.id = TORT_BLOCKED, .layout.inputs = 1u << TORT_QLINEAR_A | 1u << TORT_QLINEAR_B,          \
        .layout.outputs = 1, .layout.follows = true                                                                    \
    }
#define ROW(op_, run_)                                                                                                 \
    {                                                                                                                  \
        .domain = "com.microsoft", .op = op_, .name = "qlinear_binary",                                                \
        .in_place = 1u << TORT_QLINEAR_A | 1u << TORT_QLINEAR_B, .claim = tort_cpu_claim_any, .run = run_,             \
        .layout.id = TORT_ANY_LAYOUT, .layout.inputs = 1u << TORT_QLINEAR_A | 1u << TORT_QLINEAR_B,                    \
        .layout.outputs = 1                                                                                            \
    }

const tort_kernel tort_cpu_qlinear_binary[] = {
    BLOCKED_ROW("QLinearAdd", add_channels),
    BLOCKED_ROW("QLinearMul", multiply_channels),
    ROW("QLinearAdd", run_add),
    ROW("QLinearMul", run_multiply),
    {.op = NULL},
};
