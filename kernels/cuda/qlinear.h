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

/* ---- tables of 256 bytes, which each block has in shared memory ---- */

typedef enum gpu_byte_function {
    GPU_BYTE_TABLE, /* the table is given */
    GPU_BYTE_LEAKY_RELU,
    GPU_BYTE_SIGMOID,
    GPU_BYTE_FUNCTION_COUNT
} gpu_byte_function;

typedef struct gpu_byte_map {
    gpu_linear from, to;
    float alpha;
    const uint8_t *table;
} gpu_byte_map;

/* y[i] = f(x[i]); is_signed: both are int8. */
GPU_LAUNCHER gpu_run_byte_map(gpu_stream stream, gpu_byte_function function, bool is_signed, const gpu_byte_map *map,
                              size_t count, const void *x, void *y);
GPU_LAUNCHER gpu_load_byte_map(gpu_byte_function function, bool is_signed);

enum { GPU_LINEAR_PARTS = 8 };

/* Parts of QLinearConcat: y is [outer, row], a part [outer, run], which is y's from `start` on. */
typedef struct gpu_linear_part {
    gpu_linear from;
    const void *x;
    gpu_divisor run;
    size_t count; /* outer * run */
    int64_t start;
    bool packed; /* in packs, which the launcher decides */
} gpu_linear_part;

typedef struct gpu_linear_concat {
    gpu_linear to;
    int64_t row;
    int32_t parts;
    gpu_linear_part part[GPU_LINEAR_PARTS];
} gpu_linear_concat;

GPU_LAUNCHER gpu_run_linear_concat(gpu_stream stream, bool is_signed, gpu_linear_concat *concat, void *y);
GPU_LAUNCHER gpu_load_linear_concat(bool is_signed);

/* z = condition ? x : y, operands 0 to 2 of the loop; a pair's c is that of z. */
GPU_LAUNCHER gpu_run_linear_where(gpu_stream stream, bool is_signed, const gpu_loop *loop,
                                  const gpu_linear_pair *numbers, const void *condition, const void *x, const void *y,
                                  void *z);
GPU_LAUNCHER gpu_load_linear_where(bool is_signed);

#endif
