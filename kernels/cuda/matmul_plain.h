/* matmul_plain.h - matrix products of types without tiles of their own (matmul.h): double, integers, and bfloat16
 * without tensor cores for it. Plain C. */
#ifndef TORT_KERNELS_CUDA_MATMUL_PLAIN_H
#define TORT_KERNELS_CUDA_MATMUL_PLAIN_H

#include "kernels/cuda/matmul.h"
#include "kernels/cuda/number.h"

/* Runs one product or a batch, but not joined ones. Integers have neither alpha nor beta nor an epilogue. */
GPU_LAUNCHER gpu_run_matmul_plain(gpu_stream stream, gpu_number type, const gpu_matmul *p,
                                  const gpu_matmul_operands *o);
GPU_LAUNCHER gpu_load_matmul_plain(gpu_number type);

#endif
