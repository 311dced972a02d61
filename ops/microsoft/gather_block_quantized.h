/* gather_block_quantized.h - params of GatherBlockQuantized, for every provider. Read next: gather_block_quantized.c.
 */
#ifndef TORT_OPS_MICROSOFT_GATHER_BLOCK_QUANTIZED_H
#define TORT_OPS_MICROSOFT_GATHER_BLOCK_QUANTIZED_H

#include "runtime/include/op.h"

typedef struct tort_gather_block {
    int32_t rank, gather_axis, quantize_axis;
    tort_type type; /* of the numbers: UINT2, UINT4 or UINT8 if data is uint8 */
    int64_t block;
    float zero;                  /* zero point without the input zero_points */
    int64_t dims[TORT_MAX_RANK]; /* of the table in numbers; -1 while not known */
    int64_t scale_strides[TORT_MAX_RANK], zero_strides[TORT_MAX_RANK];
} tort_gather_block;

#endif
