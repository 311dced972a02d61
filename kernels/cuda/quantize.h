/* quantize.h - interface between quantize.c and quantize.cu, quantize_any.cu: numbers of few bits in the place of
 * floats, by scale and zero point. Plain C. */
#ifndef TORT_KERNELS_CUDA_QUANTIZE_H
#define TORT_KERNELS_CUDA_QUANTIZE_H

#include "kernels/cuda/claims.h"
#include "kernels/cuda/divisor.h"
#include "ops/small_float.h"

/* x and y are [outer, length, inner]; each index of `length` has a scale and a zero point. One scale for all: length is
 * 1 and inner the count. */
typedef struct gpu_quantize {
    size_t count;
    gpu_divisor inner, length; /* of numbers up to count */
    bool rounds;               /* quotients have the precision of x; else that of float */
    const void *scale, *zero;  /* of the types of the floats and of the integers; zero may be NULL: 0 */
    const void *x;
    void *y;
} gpu_quantize;

/* y[i] = saturated(x[i] / scale + zero): the quotient is rounded to even; NaN becomes the lowest integer. x: float,
 * half or bfloat16; y: int8 or uint8. */
GPU_LAUNCHER gpu_run_quantize(gpu_stream stream, gpu_type x, bool is_signed, const gpu_quantize *p);
GPU_LAUNCHER gpu_load_quantize(gpu_type x, bool is_signed);
/* y[i] = (x[i] - zero) * scale, of the same types. */
GPU_LAUNCHER gpu_run_dequantize(gpu_stream stream, bool is_signed, gpu_type y, const gpu_quantize *p);
GPU_LAUNCHER gpu_load_dequantize(bool is_signed, gpu_type y);

/* ---- any types ---- */

/* How a number is stored. Those of less than 8 bits lie one after another, low bits first. */
typedef enum gpu_code_kind { GPU_CODE_INTEGER, GPU_CODE_FLOAT, GPU_CODE_SMALL_FLOAT, GPU_CODE_E8M0 } gpu_code_kind;
typedef struct gpu_code {
    gpu_code_kind kind;
    int32_t bits;
    bool is_signed;           /* an integer */
    tort_float_format format; /* of a small float */
} gpu_code;

gpu_code tort_cuda_code_of(tort_type type);

/* The numbers of `linear` and how they are stored; `quantized`: of x or y, and of the zero point. With blocks, the
 * scale of (o, a, i) is number (o * blocks + a / block) * inner + i. */
typedef struct gpu_linear_any {
    gpu_quantize linear; /* `rounds` is not used */
    gpu_code real, scale, quantized;
    gpu_type precision; /* of the quotient */
    bool saturate;      /* small floats; integers always do */
    gpu_divisor block;  /* of numbers up to the count */
    uint64_t blocks;    /* along the axis; 0: a scale for each index of it */
} gpu_linear_any;

/* Quantizes as gpu_run_quantize does, x of int32, float, half or bfloat16 to integers of up to 16 bits and small floats
 * of up to 8. Bits of y behind its last element become 0. */
GPU_LAUNCHER gpu_run_quantize_any(gpu_stream stream, const gpu_linear_any *p);
GPU_LAUNCHER gpu_load_quantize_any(void);
/* Dequantizes as gpu_run_dequantize does, any x; int32 in double. */
GPU_LAUNCHER gpu_run_dequantize_any(gpu_stream stream, gpu_type y, const gpu_linear_any *p);
GPU_LAUNCHER gpu_load_dequantize_any(gpu_type y);

/* ---- the range of a tensor ---- */

enum { GPU_BYTE_SCALE_PARTS = 1024 };

/* Device memory for finding a range. */
typedef struct gpu_byte_scale {
    float parts[GPU_BYTE_SCALE_PARTS][2]; /* min and max, of elements and 0, that each block has seen */
    float scale, divisor;
    uint8_t zero;
} gpu_byte_scale;

/* DynamicQuantizeLinear of floats x. Writes the scale and zero point, both on the device, with which
 * uint8 covers x and 0, NaN left out, and quantizes x by them, unless y is NULL. p has one scale: that of scratch,
 * which is 1 instead of 0. arrivals: a zero, left zero. */
GPU_LAUNCHER gpu_run_quantize_dynamically(gpu_stream stream, const gpu_quantize *p, gpu_byte_scale *scratch,
                                          uint32_t *arrivals, float *scale, uint8_t *zero);
GPU_LAUNCHER gpu_load_quantize_dynamically(void);

/* DynamicQuantizeLinear of floats x, for rows that quantize an operand themselves: y, scale and zero point are on the
 * device; y may be NULL. */
tort_status tort_cuda_quantize_dynamically(const tort_call *call, const tort_tensor *x, gpu_byte_scale *scratch,
                                           float *scale, uint8_t *zero, void *y);
tort_status tort_cuda_prepare_dynamic(tort_prepare *p);

#endif
