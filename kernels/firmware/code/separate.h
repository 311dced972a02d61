/* separate.h - sum += four * number, the product rounded and then the sum, for processors without a fused multiply-add,
 * where fmaf is a function of the library. */
#ifndef TORT_FIRMWARE_CODE_SEPARATE_H
#define TORT_FIRMWARE_CODE_SEPARATE_H

#include "kernels/firmware/code/four.h"

#if defined(tinyort_vectors)
#define tinyort_multiply_add(sum, four, number) ((sum) = vaddq_f32(sum, vmulq_n_f32(four, number)))
#else
#define tinyort_multiply_add(sum, four, number)                                                                        \
    ((sum).a += (four).a * (number), (sum).b += (four).b * (number), (sum).c += (four).c * (number),                   \
     (sum).d += (four).d * (number))
#endif /* tinyort_vectors */

#endif
