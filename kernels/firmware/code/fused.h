/* fused.h - sum += four * number, rounded once, for processors with a fused multiply-add. */
#ifndef TORT_FIRMWARE_CODE_FUSED_H
#define TORT_FIRMWARE_CODE_FUSED_H

#include "kernels/firmware/code/four.h"

#if defined(tinyort_vectors)
#define tinyort_multiply_add(sum, four, number) ((sum) = vfmaq_n_f32(sum, four, number))
#else
#define tinyort_multiply_add(sum, four, number)                                                                        \
    ((sum).a = fmaf((four).a, number, (sum).a), (sum).b = fmaf((four).b, number, (sum).b),                             \
     (sum).c = fmaf((four).c, number, (sum).c), (sum).d = fmaf((four).d, number, (sum).d))
#endif /* tinyort_vectors */

#endif
