/* quantize.h - params of QuantizeLinear and DequantizeLinear, and quantizing a block, which other operators share. */
#ifndef TORT_OPS_QUANTIZE_H
#define TORT_OPS_QUANTIZE_H

#include "ops/numeric.h"

typedef enum tort_granularity {
    TORT_PER_TENSOR, /* one scale */
    TORT_PER_AXIS,   /* one for each index of the axis */
    TORT_PER_BLOCK   /* one for each block along the axis, at each position of the other dimensions */
} tort_granularity;

/* x is [outer, length, inner]. The scale (and zero point) of element (o, a, i) is number 0, a, or
 * (o * blocks + a / block) * inner + i. */
typedef struct tort_quantize {
    tort_granularity granularity;
    int64_t outer, length, inner;
    int64_t block, blocks;
    tort_type precision; /* of the division: FLOAT16 and BFLOAT16 round its result; anything else is float */
    bool saturate;       /* to 8-bit floats: out of range becomes the largest value, else infinity or NaN */
} tort_quantize;

/* Stores elements first .. first+count-1 of `out`: x / scale + zero_point, the quotient rounded to even for an integer
 * type, then saturated. NaN becomes the least integer. At most TORT_BLOCK; x is overwritten. */
void tort_quantize_block(const tort_quantize *params, tort_type type, void *out, int64_t first, int64_t count, float *x,
                         const float *scale, const float *zero_point);

/* Computes scale and zero point as DynamicQuantizeLinear: uint8 then covers all of x, and 0. */
void tort_dynamic_scale(struct tort_watch *watch, const float *x, int64_t count, float *scale, float *zero_point);
/* Finds the range of x and 0 by `range`, part by part. */
void tort_range_in_parts(struct tort_watch *watch, void (*range)(const float *x, int64_t n, float *low, float *high),
                         const float *x, int64_t count, float *low, float *high);
/* The same for x from low to high, low <= 0 <= high. */
void tort_scale_of_range(float low, float high, float *scale, float *zero_point);

#endif
