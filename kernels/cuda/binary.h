/* binary.h - interface between binary.c and binary.cu: functions of two tensors with broadcasting. Plain C. */
#ifndef TORT_KERNELS_CUDA_BINARY_H
#define TORT_KERNELS_CUDA_BINARY_H

#include "kernels/cuda/broadcast.h"
#include "kernels/cuda/number.h"

typedef enum gpu_binary {
    GPU_ADD,
    GPU_SUB,
    GPU_MUL,
    GPU_DIV,
    GPU_MAX,
    GPU_MIN,
    GPU_POW,       /* of floats of one type; power.cu has the others */
    GPU_PRELU,     /* b is the slope */
    GPU_REMAINDER, /* result has the sign of a */
    GPU_MODULO,    /* result has the sign of b */
    GPU_BIT_AND,   /* integers only, as are the next four */
    GPU_BIT_OR,
    GPU_BIT_XOR,
    GPU_SHIFT_LEFT, /* by the width or more, or a negative number: fill bits alone */
    GPU_SHIFT_RIGHT,
    GPU_EQUAL, /* from here on the result is a bool */
    GPU_LESS,
    GPU_LESS_OR_EQUAL,
    GPU_AND, /* from here on a and b are bools */
    GPU_OR,
    GPU_XOR,
    GPU_BINARY_COUNT
} gpu_binary;

/* True if there is a kernel of this function for elements of this type. */
static inline bool gpu_has_binary(gpu_binary function, gpu_number type) {
    if (function >= GPU_AND) return type == GPU_NUMBER_BOOL;
    if (function == GPU_POW) return type <= GPU_NUMBER_DOUBLE;
    if (function >= GPU_BIT_AND && function <= GPU_SHIFT_RIGHT)
        return type >= GPU_NUMBER_INT32 && type <= GPU_NUMBER_UINT64;
    return type <= GPU_NUMBER_UINT64 || (function == GPU_EQUAL && type == GPU_NUMBER_BOOL);
}

/* y = f(a, b), operands 0 and 1 of the loop; y may be a if it has the same layout. */
GPU_LAUNCHER gpu_run_binary(gpu_stream stream, gpu_binary function, gpu_number type, const gpu_loop *loop,
                            const void *a, const void *b, void *y);
GPU_LAUNCHER gpu_load_binary(gpu_binary function, gpu_number type);
/* y = a to the power of b, whose types may differ. */
GPU_LAUNCHER gpu_run_power(gpu_stream stream, gpu_number base, gpu_number exponent, const gpu_loop *loop, const void *a,
                           const void *b, void *y);
GPU_LAUNCHER gpu_load_power(gpu_number base);
/* y[i] = !x[i] */
GPU_LAUNCHER gpu_run_not(gpu_stream stream, const void *x, void *y, size_t count);
GPU_LAUNCHER gpu_load_not(void);

#endif
