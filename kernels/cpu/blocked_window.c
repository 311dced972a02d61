/* blocked_window.c - depthwise Conv, MaxPool and AveragePool in fp32 over blocks of channels (blocked.h).
 *
 * A window that reaches beyond the picture is cut there. In a row of outputs, the first and last ones, whose windows
 * are cut, are made one by one, all others in one call. Halves are widened a strip of rows at a time, which then is in
 * the L2 cache, and rounded row by row. Read next: simd/blocked_window.c. */
#include "kernels/cpu/blocked.h"
#include "kernels/cpu/conv.h"
#include "kernels/cpu/halves.h"
#include "kernels/cpu/pieces.h"
#include "ops/pool.h"

#include <math.h>
#include <string.h>

#define STRIP_FLOATS 16384 /* of the rows of halves that are widened at once: an eighth of an L2 cache of 512 KiB */

typedef struct window_job {
    const tort_call *call;
    const tort_simd *simd;
    tort_blocked_shape shape;
    tort_reach whole;           /* outputs of a row whose windows lie within the picture */
    tort_blocked_window window; /* the fields that are the same for all rows */
    void (*loop)(const tort_blocked_window *window);
    tort_type type;              /* of x, the residual and y: float, or a half */
    const void *x, *residual;    /* the residual may be NULL */
    const float *weights, *bias; /* in whole blocks, or NULL */
    void *y;
    int64_t strip;         /* rows of outputs that are made of halves widened at once */
    int64_t buffer_floats; /* for each part: those halves, then a row of outputs, then one of the residual; 0: none */
    float *buffers;
    const tort_epilogue *epilogue;   /* applied after the bounds; NULL: nothing */
    const tort_pool_params *average; /* set for averages: the divisor depends on what a window sees */
    int64_t batch, blocks;
    tort_cpu_split split; /* by rows, and by blocks */
} window_job;

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
    const tort_reach whole = job->whole;
    const int64_t work = tort_work(row->rows, s->kernel[2] + 4, TORT_LANES), end = s->output[2];
    for (int64_t x = 0; x < whole.from && tort_piece_goes_on(job->call, x, work); x++)
        make_outputs(job, row, tort_reach_of(s, 2, x), x, x + 1);
    make_outputs(job, row, (tort_reach){0, s->kernel[2]}, whole.from, whole.to);
    for (int64_t x = whole.to; x < end && tort_piece_goes_on(job->call, x, work); x++)
        make_outputs(job, row, tort_reach_of(s, 2, x), x, x + 1);
}

/* Rows of a block of a picture, as floats: from row `top` of the picture on, at x. */
typedef struct strip {
    int64_t block, plane; /* plane: the block, counted over all pictures */
    int64_t top;
    const float *x;
    float *y, *residual; /* a row each, where y has halves */
} strip;

/* Makes row h of a block. Pictures have one slice: the depth is 1. */
static void make_block_row(const window_job *job, const strip *in, int64_t h) {
    const tort_blocked_shape *s = &job->shape;
    const tort_reach rows = tort_reach_of(s, 1, h);
    const int64_t at = (in->plane * s->outputs + h * s->output[2]) * TORT_LANES, count = s->output[2] * TORT_LANES;
    const int64_t top = h * s->strides[1] - s->begin[1] + rows.from * s->dilations[1], block = in->block;
    tort_blocked_window row = job->window;
    row.rows = rows.to - rows.from;
    row.x = row.rows > 0 ? in->x + (top - in->top) * s->input[2] * TORT_LANES : in->x;
    row.y = in->y ? in->y : (float *)job->y + at;
    if (job->weights) row.weights = job->weights + (block * s->positions + rows.from * s->kernel[2]) * TORT_LANES;
    if (job->bias) row.bias = job->bias + block * TORT_LANES;
    if (job->residual) row.add = in->y ? in->residual : (const float *)job->residual + at;
    if (job->residual && in->y)
        tort_halves_widen(job->simd, job->type, (const uint16_t *)job->residual + at, in->residual, count);
    if (job->average) row.scale = 1;
    if (job->average && job->average->window.axes == 2)
        row.scale = (float)tort_pool_divisor(job->average, 0, h); /* make_outputs multiplies by the columns */
    make_row(job, &row);
    if (job->epilogue) job->simd->finish(job->epilogue, NULL, row.y, count);
    if (in->y) tort_halves_narrow(job->simd, job->type, in->y, (uint16_t *)job->y + at, count);
}

/* Widens the rows of a block that its outputs first .. last see. */
static void widen_rows(const window_job *job, int64_t first, int64_t last, float *buffer, strip *in) {
    const tort_blocked_shape *s = &job->shape;
    const int64_t length = s->input[2] * TORT_LANES, work = tort_work(s->input[2], TORT_LANES, 1);
    const int64_t reach = (s->kernel[1] - 1) * s->dilations[1] + 1;
    const int64_t end = tort_min(s->input[1], (last - 1) * s->strides[1] - s->begin[1] + reach);
    in->top = tort_max(0, first * s->strides[1] - s->begin[1]);
    in->x = buffer;
    in->y = buffer + job->buffer_floats - 2 * s->output[2] * TORT_LANES;
    in->residual = in->y + s->output[2] * TORT_LANES;
    for (int64_t r = in->top; r < end && tort_piece_goes_on(job->call, r - in->top, work); r++, buffer += length)
        tort_halves_widen(job->simd, job->type, (const uint16_t *)job->x + (in->plane * s->input[1] + r) * length,
                          buffer, length);
}

/* Makes rows first .. last of a block; i counts rows. */
static void make_block_rows(const window_job *job, strip *in, int64_t first, int64_t last, float *buffer, int64_t *i) {
    const tort_blocked_shape *s = &job->shape;
    const int64_t work = tort_work(s->output[2] + 16, s->positions + 4, TORT_LANES);
    for (int64_t end; first < last; first = end) {
        end = job->buffer_floats ? tort_min(last, first + job->strip) : last;
        if (job->buffer_floats)
            widen_rows(job, first, end, buffer, in);
        else
            in->x = (const float *)job->x + in->plane * s->pixels * TORT_LANES;
        for (int64_t h = first; h < end; h++) {
            if (!tort_piece_goes_on(job->call, (*i)++, work)) return;
            make_block_row(job, in, h);
        }
    }
}

/* Makes rows row..end of all pictures of the batch, for some of their blocks. */
static void make_rows(const window_job *job, int64_t row, int64_t end, int64_t first_block, int64_t end_block,
                      float *buffer) {
    const int64_t rows = job->shape.output[1];
    for (int64_t last, i = 0; row < end; row = last) {
        const int64_t n = row / rows;
        last = tort_min(end, (n + 1) * rows);
        for (int64_t block = first_block; block < end_block && tort_call_goes_on(job->call, 0); block++) {
            strip in = {.block = block, .plane = n * job->blocks + block};
            make_block_rows(job, &in, row - n * rows, last - n * rows, buffer, &i);
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
        make_rows(job, row, end_row, block, end_block, job->buffers + part * job->buffer_floats);
    }
}

/* ---- halves ------------------------------------------------------------------------------------------------------ */

/* Chooses how many rows of outputs are made at once where x and y are halves. Returns false on overflow. */
static bool start_halves(window_job *job, tort_type type) {
    const tort_blocked_shape *s = &job->shape;
    const int64_t row = tort_max(1, s->input[2] * TORT_LANES), reach = (s->kernel[1] - 1) * s->dilations[1] + 1;
    int64_t outputs, floats;
    if (!tort_is_half(type)) return true;
    job->strip = tort_max(1, (STRIP_FLOATS / row - reach) / s->strides[1] + 1);
    const int64_t rows = tort_min(s->input[1], (job->strip - 1) * s->strides[1] + reach);
    if (__builtin_mul_overflow(rows, row, &floats) || __builtin_mul_overflow(2 * TORT_LANES, s->output[2], &outputs) ||
        __builtin_add_overflow(floats, outputs, &floats))
        return false;
    job->buffer_floats = floats;
    return true;
}

/* Adds to scratch what the threads need for halves. Returns false on overflow. */
static bool reserve_halves(const tort_target *target, const tort_sliding *window, tort_type type, size_t *scratch) {
    window_job job = {0};
    int64_t floats;
    tort_blocked_shape_init(&job.shape, window);
    return start_halves(&job, type) && !__builtin_mul_overflow(job.buffer_floats, (int64_t)target->threads, &floats) &&
           tort_cpu_reserve_floats(scratch, floats);
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

/* `buffers`: what reserve_halves has reserved. Returns false on overflow. */
static bool start_window(window_job *job, const tort_call *call, const tort_sliding *window, void *buffers) {
    const tort_cpu_device *device = call->device;
    tort_blocked_shape_init(&job->shape, window);
    job->whole = whole_windows(&job->shape);
    job->call = call;
    job->simd = device->simd;
    job->buffers = buffers;
    job->type = call->inputs[0].type;
    job->x = call->inputs[0].data;
    job->y = call->outputs[0].data;
    job->blocks = tort_blocks(call->inputs[0].dims[1]);
    job->window = (tort_blocked_window){.x_step = job->shape.strides[2] * TORT_LANES,
                                        .row_step = job->shape.dilations[1] * job->shape.input[2] * TORT_LANES,
                                        .column_step = job->shape.dilations[2] * TORT_LANES,
                                        .weight_row = job->shape.kernel[2] * TORT_LANES,
                                        .scale = 1};
    tort_simd_bounds(NULL, &job->window.bounds);
    return start_halves(job, job->type);
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
    *scratch = 0;
    return tort_cpu_reserve_floats(scratch, p->channels + TORT_LANES) &&
                   reserve_halves(target, &p->window, node->inputs[0].type, scratch)
               ? TORT_OK
               : tort_out_of_memory(error, SIZE_MAX);
}

static tort_status run_depthwise(const tort_call *call) {
    const tort_conv_params *p = call->params;
    const tort_tensor *bias = tort_call_input(call, 2);
    window_job job = {.weights = call->packed, .residual = tort_cpu_residual(call, &p->epilogue)};
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    char *scratch = call->scratch;
    float *whole = tort_cpu_take(&scratch, (size_t)(p->channels + TORT_LANES) * sizeof *whole);
    if (!start_window(&job, call, &p->window, scratch)) return tort_out_of_memory(call->error, SIZE_MAX);
    job.loop = job.simd->blocked_sum;
    job.epilogue = tort_simd_bounds(&p->epilogue, &job.window.bounds) ? NULL : &p->epilogue;
    if (bias) {
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

static tort_status size_pool(const tort_target *target, const tort_node_view *node, size_t *scratch,
                             tort_error *error) {
    const tort_pool_params *p = node->params;
    *scratch = 0;
    return reserve_halves(target, &p->window, node->inputs[0].type, scratch) ? TORT_OK
                                                                             : tort_out_of_memory(error, SIZE_MAX);
}

static tort_status run_max_pool(const tort_call *call) {
    const tort_pool_params *p = call->params;
    window_job job = {0};
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    if (!start_window(&job, call, &p->window, call->scratch)) return tort_out_of_memory(call->error, SIZE_MAX);
    job.loop = job.simd->blocked_maximum;
    run_window(call, &job, p->batch);
    return TORT_OK;
}

static tort_status run_average_pool(const tort_call *call) {
    const tort_pool_params *p = call->params;
    window_job job = {.average = p};
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    if (!start_window(&job, call, &p->window, call->scratch)) return tort_out_of_memory(call->error, SIZE_MAX);
    job.loop = job.simd->blocked_sum;
    run_window(call, &job, p->batch);
    return TORT_OK;
}

#define DEPTHWISE(domain_, op_, z_)                                                                                    \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = "conv_blocked_depthwise", .claim = claim_depthwise,                      \
        .size = size_depthwise, .pack.size = pack_size, .pack.alike = tort_cpu_conv_alike,                             \
        .prepare = prepare_depthwise, .run = run_depthwise, .in_place = z_, .halves = 1 | (z_),                        \
        .layout.id = TORT_BLOCKED, .layout.inputs = 1 | (z_), .layout.outputs = 1                                      \
    }
#define POOL(op_, name_, claim_, run_)                                                                                 \
    {                                                                                                                  \
        .domain = "", .op = op_, .name = name_, .claim = claim_, .size = size_pool, .run = run_, .halves = 1,          \
        .layout.id = TORT_BLOCKED, .layout.inputs = 1, .layout.outputs = 1                                             \
    }

const tort_kernel tort_cpu_blocked_window[] = {
    DEPTHWISE("", "Conv", 0),
    DEPTHWISE("tinyort", "FusedConv", 1u << TORT_EPILOGUE_Z),
    DEPTHWISE("com.microsoft", "FusedConv", 1u << TORT_EPILOGUE_Z),
    POOL("MaxPool", "max_pool_blocked", claim_pool, run_max_pool),
    POOL("AveragePool", "average_pool_blocked", claim_pool, run_average_pool),
    {.op = NULL},
};
