/* number.h - element types that kernels compute in, convert and compare. Plain C. */
#ifndef TORT_KERNELS_CUDA_NUMBER_H
#define TORT_KERNELS_CUDA_NUMBER_H

#include "runtime/include/tinyort.h"

typedef enum gpu_number {
    GPU_NUMBER_FLOAT,
    GPU_NUMBER_HALF,
    GPU_NUMBER_BFLOAT16,
    GPU_NUMBER_DOUBLE,
    GPU_NUMBER_INT32,
    GPU_NUMBER_INT64,
    GPU_NUMBER_INT8,
    GPU_NUMBER_INT16,
    GPU_NUMBER_UINT8,
    GPU_NUMBER_UINT16,
    GPU_NUMBER_UINT32,
    GPU_NUMBER_UINT64,
    GPU_NUMBER_BOOL, /* one byte, 0 or 1 */
    GPU_NUMBER_COUNT
} gpu_number;

/* Returns GPU_NUMBER_COUNT for any other type. */
static inline gpu_number gpu_number_of(tort_type type) {
    switch (type) {
    case TORT_FLOAT: return GPU_NUMBER_FLOAT;
    case TORT_FLOAT16: return GPU_NUMBER_HALF;
    case TORT_BFLOAT16: return GPU_NUMBER_BFLOAT16;
    case TORT_DOUBLE: return GPU_NUMBER_DOUBLE;
    case TORT_INT32: return GPU_NUMBER_INT32;
    case TORT_INT64: return GPU_NUMBER_INT64;
    case TORT_INT8: return GPU_NUMBER_INT8;
    case TORT_INT16: return GPU_NUMBER_INT16;
    case TORT_UINT8: return GPU_NUMBER_UINT8;
    case TORT_UINT16: return GPU_NUMBER_UINT16;
    case TORT_UINT32: return GPU_NUMBER_UINT32;
    case TORT_UINT64: return GPU_NUMBER_UINT64;
    case TORT_BOOL: return GPU_NUMBER_BOOL;
    default: return GPU_NUMBER_COUNT;
    }
}

#endif
