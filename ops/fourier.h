/* fourier.h - params of DFT and STFT, for every provider. */
#ifndef TORT_OPS_FOURIER_H
#define TORT_OPS_FOURIER_H

#include "runtime/include/tinyort.h"

/* Lanes along an axis: the numbers of a lane are `inner` numbers apart. */
typedef struct tort_fourier_params {
    int64_t outer, inner;
    int64_t in_length, in_parts;   /* numbers of a lane; 1: real, 2: complex */
    int64_t out_length, out_parts; /* frequency bins that the output keeps */
    int64_t length;                /* of the transform; a lane is padded with zeros or cut to it */
    bool inverse;
    bool completes;             /* inverse of a one-sided spectrum */
    int64_t frame_step, frames; /* STFT: a lane is a frame of in_length samples */
    int64_t signal_length;
} tort_fourier_params;

#endif
