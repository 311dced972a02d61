/* signal.h - interface between signal.c and signal.cu: windows of signals, mel scales. Plain C. */
#ifndef TORT_KERNELS_CUDA_SIGNAL_H
#define TORT_KERNELS_CUDA_SIGNAL_H

#include "kernels/cuda/claims.h"
#include "kernels/cuda/number.h"
#include "ops/window.h"

GPU_LAUNCHER gpu_run_window(gpu_stream stream, gpu_number type, tort_cosines cosines, double period, void *y,
                            size_t count);

enum { GPU_MEL_COLUMNS = 900 }; /* max: their bins are arguments of the kernel */

/* Column i is a triangle over the bins bins[i] to bins[i + 2], which is 1 at bins[i + 1]. */
typedef struct gpu_mel {
    int64_t rows, columns;
    int32_t bins[GPU_MEL_COLUMNS + 2];
    gpu_number type;
    void *y;
} gpu_mel;

GPU_LAUNCHER gpu_run_mel(gpu_stream stream, const gpu_mel *mel);
GPU_LAUNCHER gpu_load_signal(void);

#endif
