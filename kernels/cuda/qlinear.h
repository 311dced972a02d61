/* qlinear.h - interface between qlinear.c and qlinear.cu: com.microsoft's operators on tensors of int8 and uint8 that
 * have a scale and a zero point. Plain C. */
#ifndef TORT_KERNELS_CUDA_QLINEAR_H
#define TORT_KERNELS_CUDA_QLINEAR_H

#include "kernels/cuda/broadcast.h"

/* A byte q stands for (q - zero) * scale; both are on the device, a zero point of NULL is 0. */
typedef struct gpu_linear {
    const float *scale;
    const void *zero;
} gpu_linear;

typedef enum gpu_linear_binary { GPU_LINEAR_ADD, GPU_LINEAR_MUL } gpu_linear_binary;

typedef struct gpu_linear_pair {
    gpu_linear a, b, c;
} gpu_linear_pair;

/* y = f(a, b), operands 0 and 1 of the loop; y may be an operand of the same layout. */
GPU_LAUNCHER gpu_run_linear_binary(gpu_stream stream, gpu_linear_binary function, bool is_signed, const gpu_loop *loop,
                                   const gpu_linear_pair *numbers, const void *a, const void *b, void *y);
GPU_LAUNCHER gpu_load_linear_binary(gpu_linear_binary function, bool is_signed);

#endif
