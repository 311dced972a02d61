/* random.h - interface between random.c and random.cu: random numbers, those of ops/generator.c for a seed. Plain C. */
#ifndef TORT_KERNELS_CUDA_RANDOM_H
#define TORT_KERNELS_CUDA_RANDOM_H

#include "kernels/cuda/claims.h"
#include "kernels/cuda/number.h"

typedef enum gpu_drawn { GPU_UNIFORM, GPU_NORMAL, GPU_BERNOULLI, GPU_MULTINOMIAL } gpu_drawn;

typedef struct gpu_random {
    gpu_drawn drawn;
    uint32_t seed;
    double base, scale; /* of uniform and normal numbers: y = drawn * scale + base */
    gpu_number x_type, y_type;
    const void *x; /* probabilities; or lanes of `classes` logarithms of weights, each for `samples` numbers */
    size_t classes, samples, count;
    void *y;
    int32_t node;
    void *status; /* told of what is no probability */
} gpu_random;

GPU_LAUNCHER gpu_run_random(gpu_stream stream, const gpu_random *p);
GPU_LAUNCHER gpu_load_random(void);

#endif
