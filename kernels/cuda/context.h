/* context.h - which device a thread's calls of CUDA go to. For host code of builds with CUDA (or cudasim). */
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
    CUcontext primary; /* the one that the whole process shares */
} cuda_context;

/* Starts CUDA on the device, where nobody has; it stays started as long as the process lives. */
cudaError_t cuda_context_open(cuda_context *context, int ordinal);
/* Makes the device current for the calling thread; the pop gives back what was. False: it failed, nothing to pop. */
bool cuda_context_push(const cuda_context *context);
void cuda_context_pop(const cuda_context *context);

#endif
