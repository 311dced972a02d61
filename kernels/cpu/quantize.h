/* quantize.h - quantizing whole tensors on all threads, for the operators that do it on their way. Read next:
 * quantize.c. */
#ifndef TORT_KERNELS_CPU_QUANTIZE_H
#define TORT_KERNELS_CPU_QUANTIZE_H

#include "kernels/cpu/cpu.h"

/* y becomes x, of floats, as uint8, as DynamicQuantizeLinear does it; tells its scale and zero point. */
void tort_cpu_quantize_dynamically(const tort_call *call, const tort_tensor *x, uint8_t *y, float *scale,
                                   uint8_t *zero_point);

#endif
