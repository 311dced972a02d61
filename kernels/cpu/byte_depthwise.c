/* byte_depthwise.c - QLinearConv where each filter reads one channel, with 1 or 2 spatial axes: in floats, which
 * hold its sums exactly.
 *
 * A channel is laid out with its padding, and its rows are split by the stride along the height, so all outputs are
 * one run with the pitch of the layout; those between rows are dropped. Then bytes less the zero point are widened
 * to floats, which are split by the stride along the width. Bytes move in units; what is written beyond a row is
 * overwritten by the next row. Read next: byte_conv.c. */
#include "kernels/cpu/byte_conv.h"
#include "kernels/cpu/pieces.h"
#include "ops/integer_conv.h"
#include "ops/numeric.h"

#include <math.h>
#include <string.h>

static int64_t positions_of(const tort_conv_params *p) {
    int64_t positions = 1;
    for (int32_t i = 0; i < p->window.axes && positions <= TORT_DEPTHWISE_POSITIONS; i++)
        positions *= p->window.kernel[i];
    return positions;
}

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *p = node->params;
    const tort_verdict verdict = tort_cpu_claim_window(target, p);
    if (verdict.code != TORT_YES) return verdict;
    if (p->channels != p->group)
        return tort_no(TORT_NO_SHAPE, "", "is for one channel a group, W has %lld",
                       (long long)(p->group ? p->channels / p->group : 0));
    if (p->window.axes > 2)
        return tort_no(TORT_NO_SHAPE, "", "is for 1 or 2 spatial axes, the input has %d", (int)p->window.axes);
    if (positions_of(p) > TORT_DEPTHWISE_POSITIONS)
        return tort_no(TORT_NO_SHAPE, "", "is for kernels of at most %d positions", TORT_DEPTHWISE_POSITIONS);
    return tort_byte_claim(target, node, 0, tort_qlinear_conv_inputs.w);
}

/* ---- the layout of a channel ------------------------------------------------------------------------------------- */

#define UNIT 16  /* bytes moved at a time */
#define SPARE 64 /* bytes or floats behind a buffer that vectors may read and write */

/* Axes are height and width; a missing height has the size 1. */
typedef struct layout {
    int64_t input[2], output[2], kernel[2], strides[2], dilations[2], begin[2];
    int64_t rows;      /* of each of the strides[0] parts of the height */
    int64_t pitch;     /* bytes of a row: a multiple of strides[1] */
    int64_t part;      /* bytes of a part */
    int64_t bytes;     /* of all parts */
    int64_t run;       /* outputs, including those between rows */
    int64_t positions; /* of the kernel */
} layout;

/* Returns the elements of an axis that windows see; -1: overflow. */
static int64_t seen(const layout *l, int i) {
    const int64_t steps = tort_multiply(l->output[i] - 1, l->strides[i]),
                  reach = tort_multiply(l->kernel[i] - 1, l->dilations[i]);
    return steps < 0 || reach < 0 ? -1 : steps + reach + 1;
}

static bool lay_out(const tort_sliding *w, layout *l) {
    for (int i = 0; i < 2; i++) {
        const int32_t axis = i - (2 - w->axes);
        const bool given = axis >= 0;
        l->input[i] = given ? w->input[axis] : 1;
        l->output[i] = given ? tort_max(1, w->output[axis]) : 1; /* 0: nothing runs */
        l->kernel[i] = given ? w->kernel[axis] : 1;
        l->strides[i] = given ? w->strides[axis] : 1;
        l->dilations[i] = given ? w->dilations[axis] : 1;
        l->begin[i] = given ? w->begin[axis] : 0;
    }
    const int64_t height = seen(l, 0), width = seen(l, 1);
    if (height < 0 || width < 0) return false;
    l->rows = (height + l->strides[0] - 1) / l->strides[0];
    l->pitch = (width + l->strides[1] - 1) / l->strides[1] * l->strides[1];
    l->part =
        tort_multiply(l->rows, l->pitch) + tort_multiply(UNIT, l->strides[1]); /* spare bytes follow the last row */
    l->bytes = tort_multiply(l->part, l->strides[0]);
    l->run = (l->output[0] - 1) * (l->pitch / l->strides[1]) + l->output[1];
    l->positions = l->kernel[0] * l->kernel[1];
    return l->bytes >= 0;
}

/* Sets the offsets of the kernel's positions, in floats split by the stride along the width. */
static void fill_offsets(const layout *l, int64_t *offsets) {
    const int64_t s = l->strides[1], pitch = l->pitch / s, part = l->part / s, cut = l->bytes / s;
    for (int64_t h = 0; h < l->kernel[0]; h++)
        for (int64_t w = 0; w < l->kernel[1]; w++) {
            const int64_t y = h * l->dilations[0], x = w * l->dilations[1];
            *offsets++ = x % s * cut + y % l->strides[0] * part + y / l->strides[0] * pitch + x / s;
        }
}

/* Copies a row of `count` bytes. If another row follows, whole units may be copied: it overwrites the excess. */
static void copy_row(uint8_t *to, const uint8_t *from, int64_t count, bool followed) {
    if (!followed || count < UNIT / 4)
        memcpy(to, from, (size_t)count);
    else if (count <= UNIT / 2)
        memcpy(to, from, UNIT / 2);
    else
        for (int64_t i = 0; i < count; i += UNIT) memcpy(to + i, from + i, UNIT);
}

/* Copies the rows of a channel between their padding. Padding is in place already, except where rows wrote beyond
 * their ends. */
static void place_rows(const layout *l, const uint8_t *channel, const uint8_t *padding, uint8_t *placed) {
    const int64_t lead = l->begin[1] > 0 ? l->begin[1] : 0, skipped = l->begin[1] < 0 ? -l->begin[1] : 0;
    int64_t count = l->input[1] - skipped;
    if (count > l->pitch - lead) count = l->pitch - lead;
    for (int64_t y = 0; y < l->rows * l->strides[0]; y++) {
        const int64_t from = y - l->begin[0];
        if (from < 0 || from >= l->input[0] || count <= 0) continue;
        uint8_t *row = placed + y % l->strides[0] * l->part + y / l->strides[0] * l->pitch + lead;
        copy_row(row, channel + from * l->input[1] + skipped, count, from + 1 < l->input[0]);
        memcpy(row + count, padding, UNIT);
    }
}

typedef struct depthwise_job {
    const tort_call *call;
    const tort_conv_params *params;
    const tort_simd *simd;
    layout layout;
    int64_t *offsets;
    float *factors;
    char *buffers; /* one per part */
    size_t buffer_bytes;
    tort_linear_bytes x; /* its scale is 1 */
    tort_scaled_bytes y; /* zero point and sign; the factor is set per filter */
    int32_t parts;
} depthwise_job;

/* Computes the bytes of a part's buffer: placed channel, floats, split floats, sums, resulting bytes. */
static bool buffer_size(const layout *l, size_t *bytes) {
    *bytes = 0;
    return tort_cpu_reserve(bytes, (size_t)l->bytes + SPARE) && tort_cpu_reserve_floats(bytes, l->bytes + SPARE) &&
           tort_cpu_reserve_floats(bytes, l->strides[1] > 1 ? l->bytes + SPARE : 0) &&
           tort_cpu_reserve_floats(bytes, l->run + SPARE) && tort_cpu_reserve(bytes, (size_t)l->run + SPARE);
}

static tort_status size(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    const tort_conv_params *p = node->params;
    layout l;
    size_t buffer, all;
    *scratch = 0;
    if (lay_out(&p->window, &l) && buffer_size(&l, &buffer) && tort_mul_size(buffer, (uint64_t)target->threads, &all) &&
        tort_cpu_reserve(scratch, all) && tort_cpu_reserve(scratch, (size_t)l.positions * sizeof(int64_t)) &&
        tort_cpu_reserve_floats(scratch, p->filters))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* The weights and the bias of one filter. */
typedef struct filter {
    const depthwise_job *job;
    float weights[TORT_DEPTHWISE_POSITIONS];
    int32_t bias;
    bool slow; /* floats cannot hold the sums with their bias */
} filter;

static void read_filter(const depthwise_job *job, int64_t m, filter *f) {
    const tort_byte_conv_inputs *in = &tort_qlinear_conv_inputs;
    const tort_tensor *w = &job->call->inputs[in->w], *w_zero = &job->call->inputs[in->w_zero];
    const tort_tensor *bias = tort_call_input(job->call, 8);
    const int64_t count = job->layout.positions;
    const float zero = tort_cpu_number(w_zero, tort_count(w_zero) > 1 ? m : 0);
    tort_load_floats(w->type, w->data, m * count, count, f->weights);
    for (int64_t i = 0; i < count; i++) f->weights[i] -= zero;
    f->job = job;
    f->bias = bias ? ((const int32_t *)bias->data)[m] : 0;
    /* The bias is clamped in make_sums: a larger one saturates the result, whatever the sum is, if factors are
     * usual. */
    f->slow = !tort_byte_factors_exact(&job->factors[m], 1);
}

static void make_sums(const filter *f, const float *source, float *sums, int64_t count) {
    const float bias = fminf(fmaxf((float)f->bias, -TORT_DEPTHWISE_BIAS), TORT_DEPTHWISE_BIAS);
    const tort_weighted sum = {.offsets = f->job->offsets,
                               .weights = f->weights,
                               .count = f->job->layout.positions,
                               .bias = f->slow ? 0 : bias,
                               .bounds = {-INFINITY, INFINITY}};
    const tort_window_rows row = {.out = sums, .source = source, .rows = 1, .width = count};
    tort_window(f->job->call, f->job->simd, f->job->simd->weighted_sum, &row, &sum);
}

/* Requantizes sums. If slow, sums are converted to int32 in their place first. */
static void make_bytes(const filter *f, int64_t m, float *sums, uint8_t *y, int64_t count) {
    const depthwise_job *job = f->job;
    tort_scaled_bytes scaled = job->y;
    scaled.factor = job->factors[m];
    if (!f->slow) {
        job->simd->scale_to_bytes(&scaled, sums, y, count);
        return;
    }
    int32_t *whole = (int32_t *)(void *)sums;
    const tort_requantized r = {.bias = f->bias,
                                .factor = scaled.factor,
                                .zero_point = scaled.zero_point,
                                .bounds = {scaled.is_signed ? -128 : 0, scaled.is_signed ? 127 : 255}};
    for (int64_t i = 0; i < count; i++) {
        const int32_t sum = (int32_t)sums[i];
        memcpy(&whole[i], &sum, sizeof sum);
    }
    job->simd->requantize(&r, whole, y, count);
}

/* The arrays in a part's buffer. */
typedef struct buffer {
    uint8_t *placed, *made;
    float *wide, *cut, *sums;
} buffer;

static buffer cut_buffer(const layout *l, char *at) {
    buffer b;
    b.placed = tort_cpu_take(&at, (size_t)l->bytes + SPARE);
    b.wide = tort_cpu_take(&at, (size_t)(l->bytes + SPARE) * sizeof(float));
    b.cut = l->strides[1] > 1 ? tort_cpu_take(&at, (size_t)(l->bytes + SPARE) * sizeof(float)) : b.wide;
    b.sums = tort_cpu_take(&at, (size_t)(l->run + SPARE) * sizeof(float));
    b.made = tort_cpu_take(&at, (size_t)l->run + SPARE);
    return b;
}

/* Rounds up to whole vectors, so that no elements are left over. */
static int64_t whole_vectors(int64_t count) {
    return (count + 15) / 16 * 16;
}

static void widen(const depthwise_job *job, const uint8_t *channel, const buffer *b) {
    const layout *l = &job->layout;
    uint8_t padding[UNIT];
    memset(padding, (uint8_t)(int32_t)job->x.zero_point, sizeof padding);
    place_rows(l, channel, padding, b->placed);
    job->simd->dequantize(&job->x, b->placed, b->wide, whole_vectors(l->bytes));
    const int64_t list = l->bytes / l->strides[1];
    if (l->strides[1] > 1) job->simd->deal(b->wide, list, l->strides[1], b->cut, list);
}

static void run_channel(const depthwise_job *job, int64_t channel, const buffer *b) {
    const layout *l = &job->layout;
    const tort_conv_params *p = job->params;
    const int64_t per_channel = p->filters / p->group, count = whole_vectors(l->run), width = l->output[1];
    const int64_t work = tort_work(count, l->positions + 8, 1);
    filter f;
    widen(job, (const uint8_t *)job->call->inputs[0].data + channel * l->input[0] * l->input[1], b);
    for (int64_t i = channel * per_channel; i < (channel + 1) * per_channel; i++) {
        if (!tort_piece_goes_on(job->call, i, work)) return;
        uint8_t *y = (uint8_t *)job->call->outputs[0].data + i * l->output[0] * width;
        read_filter(job, i % p->filters, &f);
        make_sums(&f, b->cut, b->sums, count);
        make_bytes(&f, i % p->filters, b->sums, b->made, count);
        for (int64_t row = 0; row < l->output[0]; row++)
            copy_row(y + row * width, b->made + row * (l->pitch / l->strides[1]), width, row + 1 < l->output[0]);
    }
}

static void depthwise_part(void *arg, int64_t begin, int64_t end) {
    const depthwise_job *job = arg;
    const int64_t per_channel = job->params->filters / job->params->group;
    const int64_t work = tort_work(job->layout.run, job->layout.positions + 8, per_channel + 1);
    for (int64_t part = begin; part < end; part++) {
        const buffer b = cut_buffer(&job->layout, job->buffers + (size_t)part * job->buffer_bytes);
        int64_t first, last;
        memset(b.placed, (uint8_t)(int32_t)job->x.zero_point, (size_t)job->layout.bytes + SPARE);
        memset(b.cut, 0, (size_t)(job->layout.bytes + SPARE) * sizeof *b.cut);
        tort_cpu_share(job->params->batch * job->params->channels, 1, part, job->parts, &first, &last);
        for (int64_t c = first; c < last && tort_piece_goes_on(job->call, c, work); c++) run_channel(job, c, &b);
    }
}

static tort_status run(const tort_call *call) {
    const tort_conv_params *p = call->params;
    const tort_cpu_device *device = call->device;
    const tort_tensor *in = call->inputs, *y = &call->outputs[0];
    if (tort_count(y) == 0) return TORT_OK;
    depthwise_job job = {.call = call, .params = p, .simd = device->simd, .parts = device->threads};
    char *scratch = call->scratch;
    if (!lay_out(&p->window, &job.layout) || !buffer_size(&job.layout, &job.buffer_bytes))
        return tort_out_of_memory(call->error, SIZE_MAX);
    job.buffers = tort_cpu_take(&scratch, job.buffer_bytes * (size_t)job.parts);
    job.offsets = tort_cpu_take(&scratch, (size_t)job.layout.positions * sizeof(int64_t));
    job.factors = tort_cpu_take(&scratch, (size_t)p->filters * sizeof(float));
    fill_offsets(&job.layout, job.offsets);
    tort_byte_conv_factors(call, &tort_qlinear_conv_inputs, p->filters, job.factors);
    job.x =
        (tort_linear_bytes){.scale = 1, .zero_point = tort_cpu_number(&in[2], 0), .is_signed = in[0].type == TORT_INT8};
    job.y = (tort_scaled_bytes){.zero_point = tort_cpu_number(&in[7], 0), .is_signed = y->type == TORT_INT8};
    tort_cpu_parts(call, job.parts, depthwise_part, &job);
    return TORT_OK;
}

/* ---- of com.microsoft, channels first or last -------------------------------------------------------------------- */

static tort_status size_either(const tort_target *target, const tort_node_view *node, size_t *scratch,
                               tort_error *error) {
    const tort_status status = size(target, node, scratch, error);
    return status ? status : tort_either_conv_size(node, node->params, scratch, error);
}

static tort_status run_either(const tort_call *call) {
    return tort_either_conv_run(call, run);
}

const tort_kernel tort_cpu_byte_depthwise[] = {
    {"", "QLinearConv", "qlinear_conv_depthwise", .claim = claim, .size = size, .run = run},
    {"com.microsoft", "QLinearConv", "qlinear_conv_depthwise", .claim = claim, .size = size_either, .run = run_either},
    {.op = NULL},
};
