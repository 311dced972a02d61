/* floats.h - what the kernels on floats share: loops in two forms, by the target's multiply-add, and packed weights.
 *
 * A form gives the same bits on the host as on the target, as sums run in one order. */
#ifndef TORT_KERNELS_FIRMWARE_FLOATS_H
#define TORT_KERNELS_FIRMWARE_FLOATS_H

#include "kernels/firmware/code/floats_shape.h"
#include "kernels/firmware/code/recurrent_shape.h"
#include "kernels/firmware/firmware.h"

/* A form of the loops: floats_fused.c, floats_separate.c. */
typedef struct tort_firmware_floats {
    const char *step; /* the header of its multiply-add */
    void (*conv)(const tinyort_conv_tiles_shape *shape, const float *x, const float *w, const float *bias,
                 const float *z, void *room, float *y, float low, float high);
    void (*depthwise)(const tinyort_depthwise_float_shape *shape, const float *x, const float *w, const float *bias,
                      void *room, float *y, float low, float high);
    void (*dense)(const tinyort_dense_float_shape *shape, const float *x, const float *w, const float *c,
                  const float *z, float *y, float alpha, float beta, float low, float high);
    /* A layer of code/recurrent.h, and its steps by tort_rnn_cell. */
    void (*recurrent)(const tinyort_recurrent_shape *shape, const float *x, const float *w, const float *r,
                      const float *bias, const int32_t *lengths, const float *first_h, const float *first_c,
                      const float *peepholes, float *y, float *last_h, float *last_c, void *scratch,
                      tinyort_recurrent_step *step, tinyort_function *f, tinyort_function *g, tinyort_function *k,
                      float clip);
    void (*recurrent_open)(const tinyort_recurrent_open_shape *shape, const float *x, const float *w, const float *r,
                           const float *bias, const int32_t *lengths, const float *first_h, const float *first_c,
                           const float *peepholes, float *y, float *last_h, float *last_c, void *scratch,
                           tinyort_recurrent_step *step, tinyort_function *f, tinyort_function *g, tinyort_function *k,
                           float clip);
    tinyort_recurrent_step *steps[3];
    void (*gemm)(const tinyort_gemm_shape *shape, const float *a, const float *b, const float *c, const float *z,
                 float *y, float alpha, float beta, float low, float high);
} tort_firmware_floats;

extern const tort_firmware_floats tort_firmware_floats_fused, tort_firmware_floats_separate;

/* Bytes of `groups` times `filters` of `depth` weights, filters of a group rounded up to fours. False: overflow. */
bool tort_firmware_fours_bytes(int64_t groups, int64_t filters, int64_t depth, size_t *bytes);
/* Copies filters of a group to fours: weight k of filter m is w[m * filter + k * step]. */
void tort_firmware_pack_fours(const float *w, int64_t filters, int64_t depth, int64_t filter, int64_t step, float *to);
/* If the call is printed: array 0 of its packed weights are those. */
void tort_firmware_fours_array(const tort_call *call, int64_t groups, int64_t filters, int64_t depth);

#endif
