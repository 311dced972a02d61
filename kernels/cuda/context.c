/* context.c - makes a device current for a thread, and restores the thread's previous context.
 *
 * By the driver's stack of contexts, not by cudaSetDevice: a pop restores exactly the caller's context, even one
 * that it created itself, and touches no other device. cudaSetDevice back to a device that the program never used
 * would start CUDA there, which costs time and memory, and fails if another process holds that GPU exclusively. The
 * primary context is retained and never released, as CUDA's own runtime does: the last release would destroy it with
 * all code in it and the state that cuBLAS and cuDNN, which stay mapped, keep there; and the next session would
 * start anew. */
#if defined(TORT_CUDA) || defined(TORT_CUDASIM)
#include "kernels/cuda/context.h"

#include <stddef.h>
#include <string.h>

enum { INTERFACE = 12000 }; /* version of the driver's functions whose prototypes context.h has */

static cudaError_t find_functions(cuda_context *context) {
    static const struct {
        const char *name;
        size_t offset; /* of the pointer */
    } functions[] = {
        {"cuDeviceGet", offsetof(cuda_context, get)},
        {"cuDevicePrimaryCtxRetain", offsetof(cuda_context, retain)},
        {"cuCtxPushCurrent", offsetof(cuda_context, push)},
        {"cuCtxPopCurrent", offsetof(cuda_context, pop)},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *function = NULL;
        enum cudaDriverEntryPointQueryResult found;
        cudaError_t code =
            cudaGetDriverEntryPointByVersion(functions[i].name, &function, INTERFACE, cudaEnableDefault, &found);
        if (code == cudaSuccess && !function) code = cudaErrorSymbolNotFound;
        if (code != cudaSuccess) return code;
        memcpy((char *)context + functions[i].offset, &function, sizeof function);
    }
    return cudaSuccess;
}

cudaError_t cuda_context_open(cuda_context *context, int ordinal) {
    cudaError_t code = find_functions(context);
    if (code == cudaSuccess) code = (cudaError_t)context->get(&context->device, ordinal);
    return code == cudaSuccess ? (cudaError_t)context->retain(&context->primary, context->device) : code;
}

bool cuda_context_push(const cuda_context *context) {
    return context->push(context->primary) == CUDA_SUCCESS;
}

void cuda_context_pop(const cuda_context *context) {
    CUcontext ours;
    context->pop(&ours);
}
#else
typedef int cuda_contexts_are_in_builds_with_cuda; /* ISO C requires a declaration */
#endif
