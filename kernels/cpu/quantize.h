/* quantize.h - quantization of whole tensors on all threads, for operators that need it for an input. Read next:
 * quantize.c. */
#ifndef TORT_KERNELS_CPU_QUANTIZE_H
#define TORT_KERNELS_CPU_QUANTIZE_H

#include "kernels/cpu/cpu.h"

/* Quantizes floats x to uint8 y as DynamicQuantizeLinear does; returns the scale and zero point. */
void tort_cpu_quantize_dynamically(const tort_call *call, const tort_tensor *x, uint8_t *y, float *scale,
                                   uint8_t *zero_point);

#endif
