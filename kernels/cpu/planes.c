/* planes.c - computes the layout of channels for windows, see planes.h. */
#include "kernels/cpu/planes.h"
#include "kernels/cpu/pieces.h"

#include <string.h>

#define STORED (1 << 20) /* floats of planes between which a run may end */

/* Flattens an image to one long row, if windows see single consecutive elements without padding. */
static void flatten_pointwise(tort_planes *p) {
    for (int i = 0; i < 3; i++)
        if (p->kernel[i] != 1 || p->source_step[i] != 1 || p->begin[i] != 0 || p->input[i] != p->output[i]) return;
    p->input[2] = p->output[2] = p->outputs;
    p->input[0] = p->input[1] = p->output[0] = p->output[1] = 1;
}

/* Computes sizes. Large strides with large padding may overflow: such a plane is declared too large for any scratch. */
static void multiply_lengths(tort_planes *p) {
    int64_t rows;
    if (__builtin_mul_overflow(p->phases[1] * p->length[1], p->phases[2] * p->length[2], &p->slice) ||
        __builtin_mul_overflow(p->slice, p->length[0], &p->plane) || p->plane > INT64_MAX / 16 ||
        __builtin_mul_overflow(p->length[2], p->output[1], &rows) || rows > INT64_MAX / 16)
        p->slice = p->plane = INT64_MAX / 16;
}

void tort_planes_init(tort_planes *p, const tort_sliding *window) {
    p->outputs = p->kernel_size = p->slice_step = 1;
    for (int i = 0; i < 3; i++) {
        const int32_t axis = i - (3 - window->axes);
        const bool given = axis >= 0;
        const int64_t stride = given ? window->strides[axis] : 1;
        p->input[i] = given ? window->input[axis] : 1;
        p->output[i] = given ? window->output[axis] : 1;
        p->kernel[i] = given ? window->kernel[axis] : 1;
        p->dilations[i] = given ? window->dilations[axis] : 1;
        p->begin[i] = given ? window->begin[axis] : 0;
        /* Elements that no window sees are not stored: with a kernel of 1, only every stride-th element is. */
        p->source_step[i] = p->kernel[i] == 1 ? stride : 1;
        p->phases[i] = p->kernel[i] == 1 || i == 0 ? 1 : stride;
        if (i == 0 && p->kernel[i] != 1) p->slice_step = stride;
        p->outputs *= p->output[i];
        p->kernel_size *= p->kernel[i];
    }
    flatten_pointwise(p);
    p->direct = true;
    for (int i = 0; i < 3; i++) {
        const int64_t step = i == 0 ? p->slice_step : p->phases[i];
        const int64_t seen = (p->output[i] - 1) * step + (p->kernel[i] - 1) * p->dilations[i] + 1;
        p->length[i] = (seen + p->phases[i] - 1) / p->phases[i];
        p->direct = p->direct && p->begin[i] == 0 && p->source_step[i] == 1 && p->phases[i] == 1 && seen <= p->input[i];
    }
    if (p->direct) memcpy(p->length, p->input, sizeof p->length);
    multiply_lengths(p);
}

void tort_planes_offsets(const tort_planes *p, int64_t channels, int64_t *offsets) {
    const int64_t phase = p->length[1] * p->length[2];
    for (int64_t d = 0; channels > 0 && d < p->kernel[0]; d++)
        for (int64_t h = 0; h < p->kernel[1]; h++)
            for (int64_t w = 0; w < p->kernel[2]; w++) {
                const int64_t y = h * p->dilations[1], x = w * p->dilations[2];
                *offsets++ = d * p->dilations[0] * p->slice +
                             (y % p->phases[1] * p->phases[2] + x % p->phases[2]) * phase +
                             y / p->phases[1] * p->length[2] + x / p->phases[2];
            }
    for (int64_t i = p->kernel_size; i < channels * p->kernel_size; i++, offsets++)
        *offsets = offsets[-p->kernel_size] + p->plane;
}

tort_plane_columns tort_plane_columns_of(const tort_planes *p, int64_t phase) {
    tort_plane_columns in = {.step = p->phases[2] * p->source_step[2]};
    in.start = phase * p->source_step[2] - p->begin[2];
    in.from = in.start < 0 ? (in.step - 1 - in.start) / in.step : 0;
    in.to = p->input[2] > in.start ? (p->input[2] - in.start + in.step - 1) / in.step : 0;
    in.to = tort_min(in.to, p->length[2]);
    in.from = tort_min(in.from, in.to);
    return in;
}

int64_t tort_plane_source(const tort_planes *p, int axis, int64_t i) {
    const int64_t index = i * p->source_step[axis] - p->begin[axis];
    return index >= 0 && index < p->input[axis] ? index : -1;
}

int64_t tort_planes_row(const tort_planes *p, int64_t row) {
    return row / p->output[1] * p->slice_step * p->slice + row % p->output[1] * p->length[2];
}

int32_t tort_planes_runs(const tort_planes *p, int64_t first, int32_t columns, tort_run *runs) {
    int32_t count = 0;
    for (int32_t at = 0; at < columns;) {
        const int64_t row = (first + at) / p->output[2], x = (first + at) % p->output[2];
        const int32_t length = (int32_t)tort_min(columns - at, p->output[2] - x);
        runs[count++] = (tort_run){.offset = tort_planes_row(p, row) + x, .at = at, .length = length};
        at += length;
    }
    return count;
}

#define FINISHED 2048 /* outputs per call: few enough for the L1 cache, enough to be worth a call */

/* ---- single channels --------------------------------------------------------------------------------------------- */

int64_t tort_planes_buffer(const tort_planes *p) {
    return tort_round_up(p->plane + TORT_PLANE_TAIL, 16);
}

int64_t tort_planes_shared(const tort_planes *p) {
    return p->kernel[0] == 1 && p->phases[1] == 1 && p->dilations[1] == 1 ? p->kernel[1] : 0;
}

tort_status tort_planes_size(const tort_target *target, const tort_sliding *window, size_t *scratch,
                             tort_error *error) {
    tort_planes planes;
    int64_t floats;
    *scratch = 0;
    tort_planes_init(&planes, window);
    if (tort_cpu_reserve(scratch, (size_t)planes.kernel_size * sizeof(int64_t)) &&
        !__builtin_mul_overflow(tort_planes_buffer(&planes), (int64_t)target->threads, &floats) &&
        tort_cpu_reserve_floats(scratch, floats))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

void tort_planes_store(const tort_call *call, const tort_planes *p, const float *channel, float fill, float *stored) {
    const tort_simd *simd = ((const tort_cpu_device *)call->device)->simd;
    const int64_t all = p->length[0] * p->length[1], floats = p->phases[1] * p->phases[2] * p->length[2];
    const int64_t rows = tort_max(1, STORED / tort_max(1, floats));
    for (int64_t at = 0; at < all && (at == 0 || tort_call_goes_on(call, 0)); at += rows)
        simd->store_planes(p, channel, fill, stored, at, tort_min(all, at + rows));
}

void tort_planes_each(const tort_call *call, const tort_planes *p, tort_planes_body body, tort_planes_finish finish,
                      const void *arg, int64_t channel, const float *buffer, float *out) {
    const int64_t rows = p->output[1], width = p->output[2];
    const int64_t some = tort_max(1, tort_min(rows, FINISHED / width));
    const int64_t some_work = tort_work(some * width, p->kernel_size, 1);
    const int64_t work = tort_work(rows * width, p->kernel_size, 1);
    for (int64_t d = 0; d < p->output[0] && tort_piece_goes_on(call, d, work); d++)
        for (int64_t h = 0; h < rows && tort_piece_goes_on(call, h / some, some_work); h += some) {
            const tort_window_rows made = {.out = out + (d * rows + h) * width,
                                           .source = buffer + tort_planes_row(p, d * rows + h),
                                           .rows = tort_min(some, rows - h),
                                           .width = width,
                                           .out_pitch = width,
                                           .pitch = p->length[2]};
            body(arg, channel, &made);
            if (finish) finish(arg, made.out, made.rows * width);
        }
}
