/* recurrent.h - RNN, LSTM and GRU: arguments and launchers of recurrent.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_RECURRENT_H
#define TORT_KERNELS_CUDA_RECURRENT_H

#include "kernels/cuda/claims.h"
#include "kernels/cuda/number.h"
#include "kernels/cuda/status.h"
#include "ops/rnn.h"

/* An item is a sequence of the batch in one direction; items are ordered [direction, batch]. Intermediate values are
 * float, or double for double. */
typedef struct gpu_recurrent {
    tort_rnn_params params;
    int32_t node;
    const void *x, *w, *r, *bias, *initial_h, *initial_c, *peepholes; /* bias and the following may be NULL */
    const int32_t *lengths;                                           /* NULL: all sequences have the length of X */
    void *y, *y_h, *y_c;                                              /* may be NULL */
    void *products;                                                   /* W x: [direction, row of X, gate, hidden] */
    void *states[2];                                                  /* h before and after a step: [item, hidden] */
    void *cell, *reset;                                               /* same shape; reset: r * h of a GRU */
    gpu_status *status;
} gpu_recurrent;

GPU_LAUNCHER gpu_run_recurrent(gpu_stream stream, gpu_type type, const gpu_recurrent *recurrent);
GPU_LAUNCHER gpu_load_recurrent(gpu_type type);

#endif
