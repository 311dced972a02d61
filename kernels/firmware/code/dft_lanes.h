/* dft_lanes.h - the numbers that Fourier transforms read and write: `lanes` lanes of `inner` neighbours, whose numbers
 * are `inner` apart; or frames of signals. `parts`: 1 of real numbers, 2 of complex ones. A lane is padded with zeros
 * or cut to `length`. */
#ifndef TORT_FIRMWARE_CODE_DFT_LANES_H
#define TORT_FIRMWARE_CODE_DFT_LANES_H

#include <stdint.h>

typedef struct tinyort_dft_lanes {
    int32_t lanes, inner, in_length, in_parts, out_length, out_parts, length, frames, frame_step, signal;
} tinyort_dft_lanes;

/* The first number of a lane. */
static const float *tinyort_dft_from(const tinyort_dft_lanes *s, const float *x, int32_t lane) {
    const int32_t first = s->frames ? lane / s->frames * s->signal + lane % s->frames * s->frame_step
                                    : lane / s->inner * s->in_length * s->inner + lane % s->inner;
    return x + first * s->in_parts;
}

static float *tinyort_dft_to(const tinyort_dft_lanes *s, float *y, int32_t lane) {
    return y + (lane / s->inner * s->out_length * s->inner + lane % s->inner) * s->out_parts;
}

#endif
