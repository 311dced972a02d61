/* pad.h - padding: arguments and launchers of pad.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_PAD_H
#define TORT_KERNELS_CUDA_PAD_H

#include "kernels/cuda/claims.h"
#include "ops/pad.h"

typedef struct gpu_pad {
    tort_pad_params params;
    size_t count; /* elements of the output */
    int64_t in[TORT_MAX_RANK], out[TORT_MAX_RANK];
    uint64_t value;           /* pad element of constant mode, unless ... */
    const void *device_value; /* ... this is not NULL */
} gpu_pad;

/* Elements of 1, 2, 4 or 8 bytes. */
GPU_LAUNCHER gpu_run_pad(gpu_stream stream, int element_bytes, const gpu_pad *pad, const void *x, void *y);
GPU_LAUNCHER gpu_load_pad(int element_bytes);

tort_status tort_cuda_run_pad(const tort_call *call);

#endif
