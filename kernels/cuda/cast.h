/* cast.h - interface between cast.c and cast.cu, cast_any.cu, clip.cu: conversion and clipping of elements. Plain C. */
#ifndef TORT_KERNELS_CUDA_CAST_H
#define TORT_KERNELS_CUDA_CAST_H

#include "kernels/cuda/claims.h"
#include "kernels/cuda/number.h"
#include "kernels/cuda/quantize.h"

/* y[i] = x[i] in another type, between all types of gpu_number. */
GPU_LAUNCHER gpu_run_cast(gpu_stream stream, gpu_number from, gpu_number to, const void *x, void *y, size_t count);
GPU_LAUNCHER gpu_load_cast(gpu_number from, gpu_number to);

/* A type of a conversion: a number, else (GPU_NUMBER_COUNT) a code. */
typedef struct gpu_cast_type {
    gpu_number number;
    gpu_code code;
} gpu_cast_type;

/* y[i] = x[i] where one of the types is a code. */
typedef struct gpu_cast_any {
    gpu_cast_type from, to;
    size_t count;
    const void *x;
    void *y;
    bool saturate; /* small floats; integers keep their low bits */
    uint64_t up;   /* of e8m0: the fraction, in units of 2^-52, from which on a number is rounded up */
} gpu_cast_any;

GPU_LAUNCHER gpu_run_cast_any(gpu_stream stream, const gpu_cast_any *p);
GPU_LAUNCHER gpu_load_cast_any(gpu_number to);

/* Clips y[i] = x[i]. low_data and high_data point to one element on the device, or are NULL: low and high are then
 * the bounds of floats, and integers have none. All types but bool. */
GPU_LAUNCHER gpu_run_clip(gpu_stream stream, gpu_number type, const void *x, void *y, size_t count,
                          const void *low_data, const void *high_data, double low, double high);
GPU_LAUNCHER gpu_load_clip(gpu_number type);

#endif
