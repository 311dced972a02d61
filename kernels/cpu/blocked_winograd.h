/* blocked_winograd.h - what the transforms of Winograd's convolution get. Read next: simd/winograd.c. */
#ifndef TORT_KERNELS_CPU_BLOCKED_WINOGRAD_H
#define TORT_KERNELS_CPU_BLOCKED_WINOGRAD_H

#include "kernels/cpu/blocked.h"

/* Of outputs along each axis of a tile, of inputs, and of products. */
enum { TORT_WINOGRAD_OUTPUT = 4, TORT_WINOGRAD_INPUT = 6, TORT_WINOGRAD_PRODUCTS = 36 };

/* One block of filters of a tile: at most 4 x 4 outputs of 36 products. */
typedef struct tort_winograd_output {
    const float *m;
    int64_t step;      /* floats from a product to the next */
    const float *bias; /* [16] */
    const float *add;  /* as y lies, or NULL */
    float *y;
    int64_t pitch; /* floats from a row of outputs to the next */
    int64_t rows, columns;
    tort_bounds bounds;
} tort_winograd_output;

#endif
