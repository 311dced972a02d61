/* planes.c - laying out channels for windows, see planes.h. */
#include "kernels/cpu/planes.h"

#include <string.h>

/* A window that sees single elements without padding has no geometry left: one long row. */
static void flatten_pointwise(tort_planes *p) {
    for (int i = 0; i < 3; i++)
        if (p->kernel[i] != 1 || p->row_step[i] != 1 || p->source_step[i] != 1 || p->begin[i] != 0 ||
            p->input[i] != p->output[i])
            return;
    p->input[2] = p->output[2] = p->outputs;
    p->input[0] = p->input[1] = p->output[0] = p->output[1] = 1;
}

void tort_planes_init(tort_planes *p, const tort_sliding *window) {
    p->outputs = p->kernel_size = 1;
    for (int i = 0; i < 3; i++) {
        const int32_t axis = i - (3 - window->axes);
        const bool given = axis >= 0;
        const int64_t stride = given ? window->strides[axis] : 1;
        p->input[i] = given ? window->input[axis] : 1;
        p->output[i] = given ? window->output[axis] : 1;
        p->kernel[i] = given ? window->kernel[axis] : 1;
        p->dilations[i] = given ? window->dilations[axis] : 1;
        p->begin[i] = given ? window->begin[axis] : 0;
        /* Rows that no window sees are not stored: with a kernel of 1 only every stride-th is. */
        p->source_step[i] = p->kernel[i] == 1 ? stride : 1;
        p->row_step[i] = p->kernel[i] == 1 ? 1 : stride;
        p->outputs *= p->output[i];
        p->kernel_size *= p->kernel[i];
    }
    flatten_pointwise(p);
    for (int i = 0; i < 3; i++)
        p->stored[i] = (p->output[i] - 1) * p->row_step[i] + (p->kernel[i] - 1) * p->dilations[i] + 1;
    p->phases = p->row_step[2];
    p->phase_length = (p->stored[2] + p->phases - 1) / p->phases;
    p->stored[2] = p->phases * p->phase_length;
    p->direct = p->phases == 1 && p->source_step[2] == 1;
    for (int i = 0; i < 3; i++)
        p->direct = p->direct && p->begin[i] == 0 && p->source_step[i] == 1 && p->stored[i] <= p->input[i];
    if (p->direct) memcpy(p->stored, p->input, sizeof p->stored);
    /* Large strides over large padding may overflow: such a plane is too large for any scratch. */
    if (__builtin_mul_overflow(p->stored[0], p->stored[1], &p->plane) ||
        __builtin_mul_overflow(p->plane, p->stored[2], &p->plane) || p->plane > INT64_MAX / 8)
        p->plane = INT64_MAX / 8;
    if (p->direct) p->phase_length = p->stored[2];
}

static void fill_floats(float *to, int64_t count, float value) {
    for (int64_t i = 0; i < count; i++) to[i] = value;
}

/* Phase `phase` of a row: elements x * step + phase - begin of the input row. */
static void store_phase(const tort_planes *p, const float *row, int64_t phase, float fill, float *to) {
    const int64_t step = p->phases * p->source_step[2], shift = p->begin[2] - phase;
    int64_t from = shift > 0 ? (shift + step - 1) / step : 0;
    int64_t last = p->input[2] + shift;
    last = last > 0 ? (last + step - 1) / step : 0;
    if (last > p->phase_length) last = p->phase_length;
    if (from > last) from = last;
    fill_floats(to, from, fill);
    if (step == 1)
        memcpy(to + from, row + from - shift, (size_t)(last - from) * sizeof(float));
    else
        for (int64_t x = from; x < last; x++) to[x] = row[x * step - shift];
    fill_floats(to + last, p->phase_length - last, fill);
}

void tort_planes_store(const tort_planes *p, const float *channel, float fill, float *stored) {
    for (int64_t d = 0; d < p->stored[0]; d++)
        for (int64_t h = 0; h < p->stored[1]; h++, stored += p->stored[2]) {
            const int64_t in_d = d * p->source_step[0] - p->begin[0], in_h = h * p->source_step[1] - p->begin[1];
            if (in_d < 0 || in_d >= p->input[0] || in_h < 0 || in_h >= p->input[1]) {
                fill_floats(stored, p->stored[2], fill);
                continue;
            }
            const float *row = channel + (in_d * p->input[1] + in_h) * p->input[2];
            for (int64_t phase = 0; phase < p->phases; phase++)
                store_phase(p, row, phase, fill, stored + phase * p->phase_length);
        }
}

void tort_planes_offsets(const tort_planes *p, int64_t *offsets) {
    for (int64_t d = 0; d < p->kernel[0]; d++)
        for (int64_t h = 0; h < p->kernel[1]; h++)
            for (int64_t w = 0; w < p->kernel[2]; w++) {
                const int64_t x = w * p->dilations[2];
                *offsets++ = (d * p->dilations[0] * p->stored[1] + h * p->dilations[1]) * p->stored[2] +
                             x % p->phases * p->phase_length + x / p->phases;
            }
}

int64_t tort_planes_row(const tort_planes *p, int64_t row) {
    const int64_t d = row / p->output[1], h = row % p->output[1];
    return (d * p->row_step[0] * p->stored[1] + h * p->row_step[1]) * p->stored[2];
}
