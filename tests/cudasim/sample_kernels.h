/* sample_kernels.h - launchers of the correct kernels that the simulator's tests run, callable from host code. */
#ifndef TESTS_CUDASIM_SAMPLE_KERNELS_H
#define TESTS_CUDASIM_SAMPLE_KERNELS_H

#include "kernels/cuda/cuda_api.h"

cudaError_t sample_add(cudaStream_t stream, const float *a, const float *b, float *c, int count);
cudaError_t sample_softmax_f32(cudaStream_t stream, const float *x, float *y, int rows, int columns);
cudaError_t sample_softmax_f16(cudaStream_t stream, const void *x, void *y, int rows, int columns);
cudaError_t sample_layernorm(cudaStream_t stream, const float *x, const float *scale, const float *bias, float *y,
                             int rows, int columns, float epsilon);
cudaError_t sample_sgemm(cudaStream_t stream, const float *a, const float *b, float *c, int m, int n, int k);
cudaError_t sample_sum(cudaStream_t stream, const float *x, float *sum, int count);
cudaError_t sample_scale_bf16(cudaStream_t stream, const void *x, void *y, float factor, int count);
cudaError_t sample_copy_vectors(cudaStream_t stream, const void *x, void *y, int vectors);
/* Tensor cores: m a multiple of 16, n of 8, k of 16. */
cudaError_t sample_hgemm(cudaStream_t stream, const void *a, const void *b, float *c, int m, int n, int k);
/* Reverses the order of count values with more dynamic shared memory than a launch may have unasked. */
cudaError_t sample_reverse(cudaStream_t stream, const float *x, float *y, int count);

/* One warp each, results of one instruction for known operands; see instruction_test.cpp. */
cudaError_t sample_warp_votes(cudaStream_t stream, unsigned *results);
cudaError_t sample_shuffles(cudaStream_t stream, int *results);
cudaError_t sample_matrix_loads(cudaStream_t stream, const void *matrices, unsigned *x4, unsigned *x2_trans);
cudaError_t sample_mma(cudaStream_t stream, int kind, const void *a, const void *b, float *d);
cudaError_t sample_atomics(cudaStream_t stream, int *counters);
cudaError_t sample_async_copies(cudaStream_t stream, const float *x, float *y, int valid);

#endif
