/* recurrent.h - RNN, LSTM and GRU: what recurrent.c asks of recurrent.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_RECURRENT_H
#define TORT_KERNELS_CUDA_RECURRENT_H

#include "kernels/cuda/claims.h"
#include "kernels/cuda/number.h"
#include "kernels/cuda/status.h"
#include "ops/rnn.h"

/* An item is a sequence of the batch in one direction; items are [direction, batch]. What is between steps is float, or
 * double for double. */
typedef struct gpu_recurrent {
    tort_rnn_params params;
    int32_t node;
    const void *x, *w, *r, *bias, *initial_h, *initial_c, *peepholes; /* from bias on NULL where absent */
    const int32_t *lengths;                                           /* NULL: all are as long as X */
    void *y, *y_h, *y_c;                                              /* NULL: nobody asks */
    void *products;                                                   /* W x: [direction, row of X, gate, hidden] */
    void *states[2];                                                  /* h before and after a step: [item, hidden] */
    void *cell, *reset;                                               /* the same shape; GRU: r * h */
    gpu_status *status;
} gpu_recurrent;

#ifdef CUDA_DEVICE
#ifdef __cplusplus
extern "C" {
#endif
cudaError_t gpu_run_recurrent(gpu_stream stream, gpu_type type, const gpu_recurrent *recurrent);
cudaError_t gpu_load_recurrent(gpu_type type);
#ifdef __cplusplus
}
#endif
#endif

#endif
