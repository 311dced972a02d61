/* planes.c - storing a channel in the form of ../planes.h: padded, and cut by the strides. */
#include "kernels/cpu/simd/vector.h"

#include "kernels/cpu/planes.h"

static inline void fill_floats(float *to, int64_t count, float value) {
    for (int64_t i = 0; i < count; i++) to[i] = value;
}

static inline void copy_step(float *restrict to, const float *restrict from, int64_t count, int64_t step) {
    if (step == 1)
        for (int64_t i = 0; i < count; i++) to[i] = from[i];
    else if (step == 2)
        for (int64_t i = 0; i < count; i++) to[i] = from[2 * i];
    else
        for (int64_t i = 0; i < count; i++) to[i] = from[i * step];
}

/* The part of a phase that lies in the input: elements from .. to read input element i * step + start. */
typedef struct inside {
    int64_t from, to, step, start;
} inside;

static inside phase_inside(const tort_planes *p, int axis, int64_t phase) {
    inside in = {.step = p->phases[axis] * p->source_step[axis]};
    in.start = phase * p->source_step[axis] - p->begin[axis];
    in.from = in.start < 0 ? (in.step - 1 - in.start) / in.step : 0;
    in.to = p->input[axis] > in.start ? (p->input[axis] - in.start + in.step - 1) / in.step : 0;
    if (in.to > p->length[axis]) in.to = p->length[axis];
    if (in.from > in.to) in.from = in.to;
    return in;
}

static void store_phase(const tort_planes *p, const float *slice, const inside *rows, const inside *columns, float fill,
                        float *to) {
    const int64_t width = p->length[2];
    fill_floats(to, rows->from * width, fill);
    for (int64_t h = rows->from; h < rows->to; h++) {
        const float *row = slice + (h * rows->step + rows->start) * p->input[2];
        float *stored = to + h * width;
        fill_floats(stored, columns->from, fill);
        copy_step(stored + columns->from, row + columns->from * columns->step + columns->start,
                  columns->to - columns->from, columns->step);
        fill_floats(stored + columns->to, width - columns->to, fill);
    }
    fill_floats(to + rows->to * width, (p->length[1] - rows->to) * width, fill);
}

void SIMD(tort_simd_store_planes)(const tort_planes *p, const float *channel, float fill, float *stored) {
    const inside slices = phase_inside(p, 0, 0);
    const int64_t phase = p->length[1] * p->length[2];
    for (int64_t d = 0; d < p->length[0]; d++) {
        if (d < slices.from || d >= slices.to) {
            fill_floats(stored, p->slice, fill);
            stored += p->slice;
            continue;
        }
        const float *slice = channel + (d * slices.step + slices.start) * p->input[1] * p->input[2];
        for (int64_t i = 0; i < p->phases[1]; i++) {
            const inside rows = phase_inside(p, 1, i);
            for (int64_t j = 0; j < p->phases[2]; j++, stored += phase) {
                const inside columns = phase_inside(p, 2, j);
                store_phase(p, slice, &rows, &columns, fill, stored);
            }
        }
    }
}
