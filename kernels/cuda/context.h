/* context.h - the device to which a thread's CUDA calls go. For host code of builds with CUDA (or cudasim). */
#ifndef TORT_KERNELS_CUDA_CONTEXT_H
#define TORT_KERNELS_CUDA_CONTEXT_H

#include <stdbool.h>

#include "kernels/cuda/cuda_api.h"

typedef struct cuda_context {
    /* Functions of the driver. */
    CUresult (*get)(CUdevice *device, int ordinal);
    CUresult (*retain)(CUcontext *context, CUdevice device);
    CUresult (*push)(CUcontext context);
    CUresult (*pop)(CUcontext *context);
    CUdevice device;
    CUcontext primary; /* shared by the whole process */
} cuda_context;

/* Starts CUDA on the device if it has not been started; it stays started for the life of the process. */
cudaError_t cuda_context_open(cuda_context *context, int ordinal);
/* Makes the device current for the calling thread, until the pop restores the previous one. False: failed, and
 * nothing to pop. */
bool cuda_context_push(const cuda_context *context);
void cuda_context_pop(const cuda_context *context);

#endif
