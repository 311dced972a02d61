/* blocked.c - the conversions to and from the layout of blocked.h, and the shapes of windows over it.
 *
 * Read next: simd/blocked.c, halves.h. */
#include "kernels/cpu/blocked.h"
#include "kernels/cpu/halves.h"

#include <string.h>

#define STRIP 128 /* pixels of float16; two buffers of their floats fit the L1 cache */

static bool fits(const tort_info *info) {
    const bool numbers = info->type == TORT_FLOAT || tort_is_half(info->type) || tort_is_byte(info->type);
    return numbers && info->rank >= 3 && info->rank <= 5;
}

static bool bytes(const tort_tensor *tensor, size_t *size) {
    tort_tensor whole = *tensor;
    if (__builtin_add_overflow(tensor->dims[1], TORT_LANES - 1, &whole.dims[1])) return false;
    whole.dims[1] = whole.dims[1] / TORT_LANES * TORT_LANES;
    return tort_tensor_bytes(&whole, size);
}

/* ---- conversions ------------------------------------------------------------------------------------------------- */

typedef struct convert_job {
    const tort_simd *simd;
    const void *from;
    void *to;
    int64_t channels, pixels;
    tort_type type;
    bool to_plain;
} convert_job;

static void convert_floats(const convert_job *job, int64_t plain, int64_t blocked, int32_t count) {
    if (job->to_plain)
        job->simd->from_block((const float *)job->from + blocked, (float *)job->to + plain, job->pixels, count);
    else
        job->simd->to_block((const float *)job->from + plain, (float *)job->to + blocked, job->pixels, count);
}

static void convert_bytes(const convert_job *job, int64_t plain, int64_t blocked, int32_t count) {
    if (job->to_plain)
        job->simd->bytes_from_block((const uint8_t *)job->from + blocked, (uint8_t *)job->to + plain, job->pixels,
                                    count);
    else
        job->simd->bytes_to_block((const uint8_t *)job->from + plain, (uint8_t *)job->to + blocked, job->pixels, count);
}

/* Converts `count` pixels of some channels from plain to blocked. */
static void strip_to_block(const convert_job *job, int32_t channels, int64_t plain, int64_t blocked, int64_t count) {
    float planes[TORT_LANES * STRIP], lanes[TORT_LANES * STRIP + TORT_LANES];
    for (int32_t c = 0; c < channels; c++)
        tort_halves_widen(job->simd, job->type, (const uint16_t *)job->from + plain + c * job->pixels,
                          planes + c * count, count);
    job->simd->to_block(planes, lanes, count, channels);
    tort_halves_narrow(job->simd, job->type, lanes, (uint16_t *)job->to + blocked, count * TORT_LANES);
}

static void strip_to_plain(const convert_job *job, int32_t channels, int64_t plain, int64_t blocked, int64_t count) {
    float planes[TORT_LANES * STRIP], lanes[TORT_LANES * STRIP];
    tort_halves_widen(job->simd, job->type, (const uint16_t *)job->from + blocked, lanes, count * TORT_LANES);
    job->simd->from_block(lanes, planes, count, channels);
    for (int32_t c = 0; c < channels; c++)
        tort_halves_narrow(job->simd, job->type, planes + c * count, (uint16_t *)job->to + plain + c * job->pixels,
                           count);
}

/* Converts float16 or bfloat16 in strips widened to floats, which represent them exactly. */
static void convert_halves(const convert_job *job, int64_t plain, int64_t blocked, int32_t channels) {
    for (int64_t p = 0; p < job->pixels; p += STRIP) {
        const int64_t count = tort_min(STRIP, job->pixels - p);
        (job->to_plain ? strip_to_plain : strip_to_block)(job, channels, plain + p, blocked + p * TORT_LANES, count);
    }
}

/* Converts blocks begin..end of the whole batch. */
static void convert_blocks(void *arg, int64_t begin, int64_t end) {
    const convert_job *job = arg;
    const int64_t blocks = tort_blocks(job->channels), pixels = job->pixels;
    for (int64_t i = begin; i < end; i++) {
        const int64_t first = i % blocks * TORT_LANES, left = job->channels - first;
        const int64_t plain = (i / blocks * job->channels + first) * pixels, blocked = i * TORT_LANES * pixels;
        const int32_t count = (int32_t)(left < TORT_LANES ? left : TORT_LANES);
        if (tort_is_half(job->type))
            convert_halves(job, plain, blocked, count);
        else if (tort_is_byte(job->type))
            convert_bytes(job, plain, blocked, count);
        else
            convert_floats(job, plain, blocked, count);
    }
}

static tort_status convert(const tort_call *call, bool to_plain) {
    const tort_tensor *x = &call->inputs[0];
    const tort_cpu_device *device = call->device;
    convert_job job = {.simd = device->simd,
                       .from = x->data,
                       .to = call->outputs[0].data,
                       .channels = x->dims[1],
                       .pixels = tort_pixels(x),
                       .type = x->type,
                       .to_plain = to_plain};
    const int64_t work = job.pixels * (tort_is_half(x->type) ? 8 : 4);
    tort_parallel(call, x->dims[0] * tort_blocks(job.channels), work, convert_blocks, &job);
    return TORT_OK;
}

static tort_status from_plain(const tort_call *call) {
    return convert(call, false);
}

static tort_status to_plain(const tort_call *call) {
    return convert(call, true);
}

const tort_layout tort_cpu_layouts[] = {
    {.name = "nchw16c", .fits = fits, .bytes = bytes, .from_plain = from_plain, .to_plain = to_plain},
    {.name = NULL},
};

/* ---- windows ----------------------------------------------------------------------------------------------------- */

void tort_blocked_shape_init(tort_blocked_shape *s, const tort_sliding *window) {
    s->pixels = s->outputs = s->positions = 1;
    s->padded = false;
    for (int i = 0; i < 3; i++) {
        const int32_t axis = i - (3 - window->axes);
        const bool given = axis >= 0;
        s->input[i] = given ? window->input[axis] : 1;
        s->output[i] = given ? window->output[axis] : 1;
        s->kernel[i] = given ? window->kernel[axis] : 1;
        s->strides[i] = given ? window->strides[axis] : 1;
        s->dilations[i] = given ? window->dilations[axis] : 1;
        s->begin[i] = given ? window->begin[axis] : 0;
        const int64_t seen = (s->output[i] - 1) * s->strides[i] + (s->kernel[i] - 1) * s->dilations[i] + 1;
        s->padded = s->padded || s->begin[i] > 0 || seen - s->begin[i] > s->input[i];
        s->pixels *= s->input[i];
        s->outputs *= s->output[i];
        s->positions *= s->kernel[i];
    }
}

tort_reach tort_reach_of(const tort_blocked_shape *s, int axis, int64_t out) {
    const int64_t first = out * s->strides[axis] - s->begin[axis], step = s->dilations[axis];
    tort_reach r = {.from = first < 0 ? tort_quotient(step - 1 - first, step) : 0,
                    .to = first < s->input[axis] ? tort_quotient(s->input[axis] - 1 - first, step) + 1 : 0};
    r.to = tort_min(r.to, s->kernel[axis]);
    r.from = tort_min(r.from, r.to);
    return r;
}
