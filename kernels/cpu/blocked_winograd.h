/* blocked_winograd.h - the arguments of the transforms of Winograd's convolution. Read next: simd/winograd.c. */
#ifndef TORT_KERNELS_CPU_BLOCKED_WINOGRAD_H
#define TORT_KERNELS_CPU_BLOCKED_WINOGRAD_H

#include "kernels/cpu/blocked.h"

/* Outputs and inputs along each axis of a tile, and the products of a tile. */
enum { TORT_WINOGRAD_OUTPUT = 4, TORT_WINOGRAD_INPUT = 6, TORT_WINOGRAD_PRODUCTS = 36 };

/* The way back for one block of filters of a tile: 36 products become at most 4 x 4 outputs. */
typedef struct tort_winograd_output {
    const float *m;
    int64_t step;      /* floats from a product to the next */
    const float *bias; /* [16] */
    const float *add;  /* laid out as y, or NULL */
    float *y;
    int64_t pitch; /* floats from a row of outputs to the next */
    int64_t rows, columns;
    tort_bounds bounds;
} tort_winograd_output;

#endif
