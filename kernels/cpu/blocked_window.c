/* blocked_window.c - depthwise Conv, MaxPool and AveragePool in fp32 over blocks of channels (blocked.h).
 *
 * A window that reaches beyond the picture is cut there. In a row of outputs, the first and last ones, whose windows
 * are cut, are made one by one, all others in one call. Read next: simd/blocked_window.c. */
#include "kernels/cpu/blocked.h"
#include "kernels/cpu/conv.h"
#include "kernels/cpu/pieces.h"
#include "ops/pool.h"

#include <math.h>
#include <string.h>

typedef struct window_job {
    const tort_call *call;
    const tort_simd *simd;
    tort_blocked_shape shape;
    tort_blocked_window window; /* the fields that are the same for all rows */
    void (*loop)(const tort_blocked_window *window);
    const float *x, *weights, *bias, *residual; /* weights and bias in whole blocks; all but x may be NULL */
    float *y;
    const tort_epilogue *epilogue;   /* applied after the bounds; NULL: nothing */
    const tort_pool_params *average; /* set for averages: the divisor depends on what a window sees */
    int64_t batch, blocks;
    tort_cpu_split split; /* by rows, and by blocks */
} window_job;

/* Returns the outputs of a row whose windows lie within the picture: from .. to. */
static tort_reach whole_windows(const tort_blocked_shape *s) {
    const int64_t stride = s->strides[2], end = s->input[2] + s->begin[2] - (s->kernel[2] - 1) * s->dilations[2];
    tort_reach r = {.from = tort_min((s->begin[2] + stride - 1) / stride, s->output[2]),
                    .to = end > 0 ? tort_min((end + stride - 1) / stride, s->output[2]) : 0};
    r.to = tort_max(r.from, r.to);
    return r;
}

/* Makes outputs first .. last of a row, whose windows see the columns of `see`. */
static void make_outputs(const window_job *job, const tort_blocked_window *row, tort_reach see, int64_t first,
                         int64_t last) {
    const tort_blocked_shape *s = &job->shape;
    tort_blocked_window w = *row;
    if (first >= last) return;
    w.x += (first * s->strides[2] - s->begin[2] + see.from * s->dilations[2]) * TORT_LANES;
    w.columns = see.to - see.from;
    w.pixels = last - first;
    w.y += first * TORT_LANES;
    if (w.add) w.add += first * TORT_LANES;
    if (w.weights) w.weights += see.from * TORT_LANES;
    if (job->average) {
        const int64_t counted = tort_pool_divisor(job->average, job->average->window.axes - 1, first);
        w.scale = counted > 0 && row->scale > 0 ? 1 / (row->scale * (float)counted) : 0;
    }
    tort_blocked_windows(job->call, job->simd, job->loop, &w);
}

/* Makes a row of outputs. */
static void make_row(const window_job *job, const tort_blocked_window *row) {
    const tort_blocked_shape *s = &job->shape;
    const tort_reach whole = whole_windows(s);
    const int64_t work = tort_work(row->rows, s->kernel[2] + 4, TORT_LANES), end = s->output[2];
    for (int64_t x = 0; x < whole.from && tort_piece_goes_on(job->call, x, work); x++)
        make_outputs(job, row, tort_reach_of(s, 2, x), x, x + 1);
    make_outputs(job, row, (tort_reach){0, s->kernel[2]}, whole.from, whole.to);
    for (int64_t x = whole.to; x < end && tort_piece_goes_on(job->call, x, work); x++)
        make_outputs(job, row, tort_reach_of(s, 2, x), x, x + 1);
}

/* Makes row h of a block. Pictures have one slice: the depth is 1. */
static void make_block_row(const window_job *job, int64_t n, int64_t block, int64_t h) {
    const tort_blocked_shape *s = &job->shape;
    const tort_reach rows = tort_reach_of(s, 1, h);
    const int64_t at = ((n * job->blocks + block) * s->outputs + h * s->output[2]) * TORT_LANES;
    tort_blocked_window row = job->window;
    row.x = job->x + ((n * job->blocks + block) * s->pixels +
                      (h * s->strides[1] - s->begin[1] + rows.from * s->dilations[1]) * s->input[2]) *
                         TORT_LANES;
    row.rows = rows.to - rows.from;
    row.y = job->y + at;
    if (job->weights) row.weights = job->weights + (block * s->positions + rows.from * s->kernel[2]) * TORT_LANES;
    if (job->bias) row.bias = job->bias + block * TORT_LANES;
    if (job->residual) row.add = job->residual + at;
    if (job->average) row.scale = 1;
    if (job->average && job->average->window.axes == 2)
        row.scale = (float)tort_pool_divisor(job->average, 0, h); /* make_outputs multiplies by the columns */
    make_row(job, &row);
    if (job->epilogue) job->simd->finish(job->epilogue, NULL, row.y, s->output[2] * TORT_LANES);
}

/* Makes rows row..end of all pictures of the batch, for some of their blocks. */
static void make_rows(const window_job *job, int64_t row, int64_t end, int64_t first_block, int64_t end_block) {
    const int64_t rows = job->shape.output[1];
    const int64_t work = tort_work(job->shape.output[2] + 16, job->shape.positions + 4, TORT_LANES);
    for (int64_t last, i = 0; row < end; row = last) {
        last = tort_min(end, (row / rows + 1) * rows);
        for (int64_t block = first_block; block < end_block; block++)
            for (int64_t h = row; h < last; h++, i++) {
                if (!tort_piece_goes_on(job->call, i, work)) return;
                make_block_row(job, row / rows, block, h % rows);
            }
    }
}

static void window_part(void *arg, int64_t begin, int64_t end) {
    const window_job *job = arg;
    const tort_cpu_split *split = &job->split;
    for (int64_t part = begin; part < end; part++) {
        int64_t row, end_row, block, end_block;
        tort_cpu_share(job->batch * job->shape.output[1], 1, part % split->pixel_parts, split->pixel_parts, &row,
                       &end_row);
        tort_cpu_share(job->blocks, 1, part / split->pixel_parts, split->filter_parts, &block, &end_block);
        make_rows(job, row, end_row, block, end_block);
    }
}

static void start_window(window_job *job, const tort_call *call, const tort_sliding *window) {
    const tort_cpu_device *device = call->device;
    tort_blocked_shape_init(&job->shape, window);
    job->call = call;
    job->simd = device->simd;
    job->x = call->inputs[0].data;
    job->y = call->outputs[0].data;
    job->blocks = tort_blocks(call->inputs[0].dims[1]);
    job->window = (tort_blocked_window){.x_step = job->shape.strides[2] * TORT_LANES,
                                        .row_step = job->shape.dilations[1] * job->shape.input[2] * TORT_LANES,
                                        .column_step = job->shape.dilations[2] * TORT_LANES,
                                        .weight_row = job->shape.kernel[2] * TORT_LANES,
                                        .scale = 1};
    tort_simd_bounds(NULL, &job->window.bounds);
}

/* Shares rows among threads as convolutions do, so that a thread finds its earlier results in its own cache; if rows
 * are few, blocks are shared too, for equal shares. */
static void run_window(const tort_call *call, window_job *job, int64_t batch) {
    const tort_blocked_shape *s = &job->shape;
    const tort_cpu_products products = {.pixels = batch * s->output[1], .filters = job->blocks, .pixel_cost = 1};
    const int64_t work = products.pixels * job->blocks * s->output[2] * (s->kernel[1] * s->kernel[2] + 4);
    job->batch = batch;
    job->split = tort_cpu_split_of(&products, tort_cpu_threads(call->device, work));
    tort_cpu_parts(call, job->split.pixel_parts * job->split.filter_parts, window_part, job);
}

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static tort_verdict claim_picture(const tort_target *target, const tort_node_view *node, const tort_sliding *window,
                                  int64_t channels) {
    if (window->axes < 1 || window->axes > 2)
        return tort_no(TORT_NO_SHAPE, "", "is for 1 or 2 spatial axes, the input has %d", (int)window->axes);
    if (channels < TORT_LANES)
        return tort_no(TORT_NO_SHAPE, "", "is for %d channels and more that are known", TORT_LANES);
    return tort_cpu_claim_float(target, node);
}

/* ---- depthwise convolution --------------------------------------------------------------------------------------- */

static tort_verdict claim_depthwise(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *p = node->params;
    tort_verdict verdict = tort_cpu_claim_window(target, p);
    if (verdict.code == TORT_YES) verdict = claim_picture(target, node, &p->window, p->channels);
    if (verdict.code != TORT_YES) return verdict;
    if (p->channels != p->group || p->filters != p->group)
        return tort_no(TORT_NO_SHAPE, "", "is for one channel and one filter a group, here %lld and %lld",
                       (long long)(p->group ? p->channels / p->group : 0),
                       (long long)(p->group ? p->filters / p->group : 0));
    if (!node->inputs[1].constant)
        return tort_no(TORT_NO_DYNAMIC, "", "W is not a constant, so it cannot be packed ahead");
    return tort_yes();
}

/* Computes the size of the packed weights: [block][position][16]. */
static tort_status pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                             tort_error *error) {
    const tort_conv_params *p = node->params;
    int64_t floats;
    (void)target;
    if (__builtin_mul_overflow(tort_blocks(p->channels) * TORT_LANES, tort_sliding_positions(&p->window), &floats))
        floats = -1;
    return tort_cpu_pack_floats(floats, bytes, consumed, error);
}

static tort_status prepare_depthwise(tort_prepare *prepare) {
    const tort_cpu_device *device = prepare->device;
    const tort_conv_params *p = prepare->node->params;
    const int64_t positions = tort_sliding_positions(&p->window);
    const float *weights = prepare->node->inputs[1].data;
    float *packed = prepare->packed;
    int64_t done = 0;
    if (!weights) return tort_fail(prepare->error, TORT_E_INTERNAL, "the constant W has no data");
    for (int64_t c = 0; c < p->channels && tort_work_goes_on(prepare->watch, &done, TORT_LANES * positions);
         c += TORT_LANES)
        device->simd->pack_lanes(packed + c * positions, TORT_LANES, weights + c * positions, positions, 1,
                                 (int32_t)tort_min(TORT_LANES, p->channels - c), positions, 1);
    return TORT_OK;
}

static tort_status size_depthwise(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                  tort_error *error) {
    const tort_conv_params *p = node->params;
    (void)target;
    *scratch = 0;
    return tort_cpu_reserve_floats(scratch, p->channels + TORT_LANES) ? TORT_OK : tort_out_of_memory(error, SIZE_MAX);
}

static tort_status run_depthwise(const tort_call *call) {
    const tort_conv_params *p = call->params;
    const tort_tensor *bias = tort_call_input(call, 2);
    window_job job = {.weights = call->packed, .residual = tort_cpu_residual(call, &p->epilogue)};
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    start_window(&job, call, &p->window);
    job.loop = job.simd->blocked_sum;
    job.epilogue = tort_simd_bounds(&p->epilogue, &job.window.bounds) ? NULL : &p->epilogue;
    if (bias) {
        float *whole = call->scratch;
        memset(whole, 0, (size_t)(job.blocks * TORT_LANES) * sizeof *whole);
        memcpy(whole, bias->data, (size_t)p->channels * sizeof *whole);
        job.bias = whole;
    }
    run_window(call, &job, p->batch);
    return TORT_OK;
}

/* ---- pools ------------------------------------------------------------------------------------------------------- */

static tort_verdict claim_pool(const tort_target *target, const tort_node_view *node) {
    const tort_pool_params *p = node->params;
    if (tort_has_output(node, 1)) return tort_no(TORT_NO_ATTR, "", "does not make Indices");
    return claim_picture(target, node, &p->window, p->channels);
}

static tort_status run_max_pool(const tort_call *call) {
    const tort_pool_params *p = call->params;
    window_job job = {0};
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    start_window(&job, call, &p->window);
    job.loop = job.simd->blocked_maximum;
    run_window(call, &job, p->batch);
    return TORT_OK;
}

static tort_status run_average_pool(const tort_call *call) {
    const tort_pool_params *p = call->params;
    window_job job = {.average = p};
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    start_window(&job, call, &p->window);
    job.loop = job.simd->blocked_sum;
    run_window(call, &job, p->batch);
    return TORT_OK;
}

#define DEPTHWISE(domain_, op_, z_)                                                                                    \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = "conv_blocked_depthwise", .claim = claim_depthwise,                      \
        .size = size_depthwise, .pack.size = pack_size, .pack.alike = tort_cpu_conv_alike,                             \
        .prepare = prepare_depthwise, .run = run_depthwise, .in_place = z_, .layout.id = TORT_BLOCKED,                 \
        .layout.inputs = 1 | (z_), .layout.outputs = 1                                                                 \
    }
#define POOL(op_, name_, claim_, run_)                                                                                 \
    {                                                                                                                  \
        .domain = "", .op = op_, .name = name_, .claim = claim_, .run = run_, .layout.id = TORT_BLOCKED,               \
        .layout.inputs = 1, .layout.outputs = 1                                                                        \
    }

const tort_kernel tort_cpu_blocked_window[] = {
    DEPTHWISE("", "Conv", 0),
    DEPTHWISE("tinyort", "FusedConv", 1u << TORT_EPILOGUE_Z),
    DEPTHWISE("com.microsoft", "FusedConv", 1u << TORT_EPILOGUE_Z),
    POOL("MaxPool", "max_pool_blocked", claim_pool, run_max_pool),
    POOL("AveragePool", "average_pool_blocked", claim_pool, run_average_pool),
    {.op = NULL},
};
