/* quantized.h - what the kernels of quantized operators share: constants as floats less their zero points, and what
 * turns sums of products into bytes. Read next: conv_integer.c, qlinear_matmul.c. */
#ifndef TORT_KERNELS_CPU_QUANTIZED_H
#define TORT_KERNELS_CPU_QUANTIZED_H

#include "kernels/cpu/cpu.h"

/* The elements of constant input `input` as floats, less those of the constant `zero_input`, which may be absent: one
 * number, or one for each `inner` elements that follow one another, in turns. The caller frees them by
 * tort_free(prepare->env, *floats, *bytes). */
tort_status tort_cpu_widen(const tort_prepare *prepare, int32_t input, int32_t zero_input, int64_t inner,
                           float **floats, size_t *bytes);
/* With the zero point and the range of output 0, of int8 or uint8; without bias and factor. */
tort_requantized tort_cpu_requantized(const tort_call *call, float zero_point);

#endif
