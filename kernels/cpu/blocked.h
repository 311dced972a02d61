/* blocked.h - the layout "nchw16c": the sixteen channels of a block are contiguous for each pixel.
 *
 * A tensor (batch, channels, spatial...) is stored as (batch, blocks of 16 channels, spatial..., 16). Lanes of the
 * last block beyond the channels have undefined contents: kernels may compute with them lane by lane, but must never
 * add one to a sum over channels. A convolution broadcasts one channel of a pixel against a vector of filters, so it
 * reads this layout as it is, without im2col or packing. Read next: blocked_conv.c, simd/blocked.c. */
#ifndef TORT_KERNELS_CPU_BLOCKED_H
#define TORT_KERNELS_CPU_BLOCKED_H

#include "kernels/cpu/cpu.h"
#include "ops/sliding.h"

enum { TORT_LANES = 16, TORT_BLOCKED = 1 /* index of the layout in the provider's table */ };

/* Fetching the weights of a tile of filters from the L3 cache costs the time of about so many pixels (measured for
 * tort_cpu_split_of). */
#define TORT_WEIGHTS_COST 16

static inline int64_t tort_blocks(int64_t channels) {
    return (channels + TORT_LANES - 1) / TORT_LANES;
}

/* Returns the elements of one channel. */
static inline int64_t tort_pixels(const tort_tensor *tensor) {
    int64_t pixels = 1;
    for (int32_t d = 2; d < tensor->rank; d++) pixels *= tensor->dims[d];
    return pixels;
}

/* ---- inner loops ------------------------------------------------------------------------------------------------- */

/* A run of `count` contiguous channels, `offset` floats behind the first pixel of a tile. */
typedef struct tort_span {
    int64_t offset, count;
} tort_span;

/* A tile of pixels by filters: y = sum over all channels of all spans of x * weight, + bias + add, within bounds. */
typedef struct tort_blocked_tile {
    const float *x;
    int64_t x_step;   /* floats from a pixel to the next */
    int64_t row_step; /* 0, or: the tile is two rows of blocked_pixels / 2 each, and this is the distance of their first
                         pixels */
    const tort_span *spans;
    int64_t span_count;
    const float *weights; /* [channels of all spans][filters] */
    const float *later;   /* prefetched, 16 floats per channel: weights of a later tile */
    const float *bias;    /* [filters] */
    const float *add;     /* laid out as y, or NULL */
    float *y;
    int64_t y_block; /* floats from a block of filters to the next */
    int32_t pixels;  /* 1 to tort_simd.blocked_pixels */
    int32_t blocks;  /* blocks of filters, 1 to tort_simd.blocked_blocks */
    tort_bounds bounds;
} tort_blocked_tile;

/* The byte form of tort_blocked_tile: (sum + bias) * factor is rounded to a byte of y. x is unsigned and the weights
 * are signed, or both are signed where tort_bytes.all_signed. */
typedef struct tort_blocked_byte_tile {
    const uint8_t *x;
    int64_t x_step;         /* bytes from a pixel to the next */
    const tort_span *spans; /* offsets in bytes, counts in words of four channels */
    int64_t span_count;
    const uint8_t *weights; /* [words of all spans][filters][4] */
    const uint8_t *later;   /* prefetched, 64 bytes per word */
    /* NULL, or as tort_byte_tile.order of `words` words: word i of the weights is word order[i] of the spans, which
     * lies places[order[i]] bytes behind x. */
    const int32_t *order;
    const int64_t *places;
    int64_t words, safe;
    const int32_t *bias;  /* [filters] */
    const float *factors; /* [filters] */
    uint8_t *y;
    int64_t y_block; /* bytes */
    int32_t pixels, blocks;
    int32_t zero_point, low, high; /* of y */
    int32_t *sums;                 /* [blocks][pixels][16]: if given, sums are stored here and y is not written */
} tort_blocked_byte_tile;

/* A tile of a matrix unit: the sums of two groups of 16 pixels by up to two blocks of filters, of 64 channels a span.
 */
typedef struct tort_unit_tile {
    const uint8_t *x[2];    /* the first pixel of each group; the second may be NULL. 16 pixels are read */
    int64_t x_step;         /* bytes from a pixel to the next */
    const tort_span *spans; /* offsets in bytes; counts are not read */
    int64_t span_count;
    const uint8_t *weights; /* [span][16 words][filters][4] */
    const uint8_t *later;   /* prefetched, `lines` lines of 64 bytes a span */
    int32_t lines, blocks;
    int32_t *sums; /* [32][filters of blocked_blocks] */
} tort_unit_tile;

#define TORT_DEPTHWISE_PIXELS 8 /* of a tile, at most */

/* Sums of a depthwise filter over quads of a block, each of which has four neighbours in a row: pixel i is the sum over
 * rows and quads of those at x + i * x_step + row * row_step + quad * 256, times weights[row][quad]. */
typedef struct tort_depthwise_bytes {
    const uint8_t *x;
    int64_t x_step, row_step; /* bytes */
    int64_t rows, quads;
    const uint8_t *weights; /* [rows][quads][16][4] */
} tort_depthwise_bytes;

/* One block of channels through a window: pixel i of y is the sum, or maximum, over the rows and columns of the
 * window, of x[i * x_step + row * row_step + column * column_step] (* weights[row * weight_row + column]). */
typedef struct tort_blocked_window {
    const float *x;
    int64_t x_step, row_step, column_step; /* floats */
    int64_t rows, columns;
    const float *weights; /* [.][16]; NULL: sums are multiplied by `scale` */
    int64_t weight_row;   /* floats */
    const float *bias;    /* [16]; NULL: 0 */
    const float *add;     /* laid out as y, or NULL */
    float *y;
    int64_t pixels;
    float scale;
    tort_bounds bounds;
} tort_blocked_window;

/* ---- windows ----------------------------------------------------------------------------------------------------- */

/* Axes are depth, height, width; missing leading axes have the size 1. */
typedef struct tort_blocked_shape {
    int64_t input[3], output[3], kernel[3], strides[3], dilations[3], begin[3];
    int64_t pixels, outputs; /* per channel */
    int64_t positions;       /* of the kernel */
    bool padded;             /* some window reaches beyond the input */
} tort_blocked_shape;

/* Kernel positions from .. to along an axis that lie within the input, for output `out`. */
typedef struct tort_reach {
    int64_t from, to;
} tort_reach;

tort_reach tort_reach_of(const tort_blocked_shape *shape, int axis, int64_t out);

/* Sets the shape of a window of 1 to 3 axes whose sizes are all known. */
void tort_blocked_shape_init(tort_blocked_shape *shape, const tort_sliding *window);

/* The layout takes 3 to 5 dimensions of float, a half type, or bytes. */
extern const tort_layout tort_cpu_layouts[];

#endif
