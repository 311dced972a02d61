/* bytes.h - what the kernels on 8-bit numbers share: loops in one form for each kind of target, and packed weights.
 *
 * Sums of products of bytes are whole numbers, so every form gives the same result, and so does kernels/cpu. */
#ifndef TORT_KERNELS_FIRMWARE_BYTES_H
#define TORT_KERNELS_FIRMWARE_BYTES_H

#include "kernels/firmware/code/conv_bytes_shape.h"
#include "kernels/firmware/code/planes_shape.h"
#include "kernels/firmware/floats.h"
#include "ops/extent.h"

/* A form of the loops: bytes_plain.c, bytes_dsp.c, bytes_mve.c. */
typedef struct tort_firmware_bytes {
    int32_t tile;  /* filters of a convolution that are multiplied at a time; of a dense product 4 */
    int32_t turn;  /* weights of a filter before the next filter has its turn; 0: one filter follows the other */
    int32_t depth; /* the length of a column is a multiple of it */
    bool widens;   /* columns are widened, with the flip of uint8, into scratch */
    const char *rows, *pixels, *dense_rows; /* the headers of its part of the loops, of depthwise ones and dense ones */
    bool interleaved;  /* of a depthwise convolution: biases and factors are as depthwise_mve.h has them */
    bool whole;        /* headers that compute without floats are printed, which have the same results */
    bool takes_uint8;  /* a depthwise convolution takes bytes of uint8 as they are */
    int32_t depthwise; /* weights are padded to a multiple of so many channels; 1: taps lie beside those of all */
    void (*conv)(const tinyort_conv_bytes_shape *shape, const void *x, const int8_t *w, const int32_t *bias,
                 const float *factors, void *room, void *y);
    void (*conv_transpose)(const tinyort_conv_transpose_bytes_shape *shape, const void *x, const int8_t *w,
                           const int32_t *bias, const float *factors, void *room, void *y);
    void (*run_depthwise)(const tinyort_depthwise_shape *shape, const void *x, const int8_t *w, const int32_t *bias,
                          const float *factors, void *room, void *y);
    int32_t planes_below; /* channels from which on pixels are faster than planes; 0: none */
    void (*planes)(const tinyort_planes_dsp_shape *shape, const void *x, const int8_t *w, const int32_t *bias,
                   const float *factors, void *room, void *y); /* of a depthwise convolution; NULL: there is none;
                                                                * if columns are not widened, only 3 x 3 */
    void (*dense)(const tinyort_dense_bytes_shape *shape, const void *x, const int8_t *w, const int32_t *bias,
                  const float *factors, void *room, void *y);
    const tort_firmware_floats *floats;
} tort_firmware_bytes;

extern const tort_firmware_bytes tort_firmware_bytes_plain, tort_firmware_bytes_whole, tort_firmware_bytes_neon,
    tort_firmware_bytes_scalar, tort_firmware_bytes_dsp, tort_firmware_bytes_mve;
/* The form for a target. Kernels get it as their device, too. */
const tort_firmware_bytes *tort_firmware_bytes_of(const tort_target *target);

/* 0x80 for uint8, whose bytes less 128 are those of int8; else 0. */
static inline int32_t tort_firmware_flip(tort_type type) {
    return type == TORT_UINT8 ? 0x80 : 0;
}

/* A byte four times, as the bits of a word. */
static inline int32_t tort_firmware_word(uint8_t byte) {
    return (int32_t)(byte * 0x01010101u);
}

/* If the call is printed: the compiled model defines which cases its loops are for: sums that are wide (requantize.h),
 * uint8, and pairs that are far (pair_bytes.h). */
void tort_firmware_define(const tort_call *call, bool wide, bool uint8, bool far);

/* tort_kernel.layout.alone of rows without a form for planes: a node needs no neighbour in their layout. */
bool tort_firmware_alone(const tort_node_view *node);

/* Accepts a constant, or no such input. */
tort_verdict tort_firmware_claim_constant(const tort_node_view *node, int32_t input, const char *name);
/* Accepts constants as inputs first to last, scales with odd numbers and zero points with even ones. */
tort_verdict tort_firmware_claim_constants(const tort_node_view *node, int32_t first, int32_t last);
/* Accepts a number of bytes, each less a zero point, whose sum fits 32 bits. */
tort_verdict tort_firmware_claim_sum(int64_t count);
/* Accepts constant weights of 8 bits whose zero points are all 0, or 128 for uint8. */
tort_verdict tort_firmware_claim_weights(const tort_node_view *node, int32_t weights, int32_t zero);

/* Elements of an input whose shape is known; 0 if it is absent or its shape is not. */
int64_t tort_firmware_count(const tort_node_view *node, int32_t input);
/* The number at `index` of a constant that may have a single element; `absent` where there is no such input. */
double tort_firmware_number(const tort_node_view *node, int32_t input, int64_t index, double absent);

/* Packed weights of a product: a head, then int32 biases and float factors of all filters, then bytes. */
typedef struct tort_firmware_packed {
    int32_t x_zero, y_zero;
    int32_t wide; /* a sum may reach 2^24, or its product with the factor 2^21 */
    int32_t unused;
} tort_firmware_packed;

/* Sizes of a product: `groups` times `filters`, of which each has `length` weights, in columns of `depth`. */
typedef struct tort_firmware_filters {
    int64_t groups, filters, length, depth, padded; /* padded: filters rounded up to tiles */
} tort_firmware_filters;

tort_firmware_filters tort_firmware_filters_of(const tort_firmware_bytes *form, int64_t groups, int64_t filters,
                                               int64_t length);
/* False: overflow, or sums could leave 32 bits. */
bool tort_firmware_packed_bytes(const tort_firmware_filters *f, size_t *bytes);
const int32_t *tort_firmware_bias(const void *packed);
const float *tort_firmware_factors(const tort_firmware_filters *f, const void *packed);
const int8_t *tort_firmware_weights(const tort_firmware_filters *f, const void *packed);
/* If the call is printed: the arrays of its packed weights, and the cases of its loops. */
void tort_firmware_tell_product(const tort_call *call, const tort_firmware_filters *f, const tinyort_bytes_shape *rows);

/* Stores bias and factor of filter `m` of a group, and notes whether sums are wide. w: its `length` weights as int8;
 * zero: the zero point of x, less 128 for uint8. */
tort_status tort_firmware_pack_filter(const tort_firmware_filters *f, int64_t group, int64_t m, const int8_t *w,
                                      double bias, float factor, int32_t zero, void *packed, tort_error *error);

/* Stores the weights of filter m of a group as the loops of columns read them: bytes of a tile of filters in turns. */
void tort_firmware_store_filter(const tort_firmware_bytes *form, const tort_firmware_filters *f, int64_t m,
                                const int8_t *w, int8_t *to);
/* Makes the bias of filter m that of a loop which takes bytes of uint8 as they are, not less 128: on the way, sums go
 * further. flip: 128 for uint8, else 0. */
tort_status tort_firmware_unflip(const tort_firmware_filters *f, int64_t m, const int8_t *w, int32_t flip, void *packed,
                                 tort_error *error);

/* The part of a shape that all products of bytes share. x, y: types. */
tinyort_bytes_shape tort_firmware_rows(const tort_firmware_bytes *form, const tort_firmware_filters *f, tort_type x,
                                       tort_type y, const void *packed);

#endif
