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

#if defined(__ARM_FEATURE_FMA) && defined(__ARM_ARCH_PROFILE) && !defined(tinyort_vectors)
#if __ARM_ARCH_PROFILE == 'M'
/* VLDM loads four floats in five cycles of a Cortex-M4; four VLDR, which is what compilers write, take eight. */
#define tinyort_add_products(a, b, u, v, number)                                                                       \
    __asm__("vldmia %8!, {s16-s19}\n\tvldmia %9!, {s20-s23}\n\t"                                                       \
            "vfma.f32 %0, s16, %10\n\tvfma.f32 %1, s17, %10\n\tvfma.f32 %2, s18, %10\n\tvfma.f32 %3, s19, %10\n\t"     \
            "vfma.f32 %4, s20, %10\n\tvfma.f32 %5, s21, %10\n\tvfma.f32 %6, s22, %10\n\tvfma.f32 %7, s23, %10"         \
            : "+t"((a).a), "+t"((a).b), "+t"((a).c), "+t"((a).d), "+t"((b).a), "+t"((b).b), "+t"((b).c), "+t"((b).d),  \
              "+r"(u), "+r"(v)                                                                                         \
            : "t"(number), "m"(*(const float(*)[4])(u)), "m"(*(const float(*)[4])(v))                                  \
            : "s16", "s17", "s18", "s19", "s20", "s21", "s22", "s23")
#endif /* M */
#endif /* __ARM_FEATURE_FMA */

#endif
