/* context.c - makes a device current for a thread, and gives the thread back what it had.
 *
 * By the driver's stack of contexts, not by cudaSetDevice: taking the top off restores exactly what the caller had, a
 * context of its own making too, and touches no other device. cudaSetDevice back to a device that the program has never
 * used would start CUDA there, which costs time and memory, and fails where another process holds that GPU alone.
 * A primary context is held and never released, as CUDA's own runtime does: the last release would destroy it with all
 * code in it and with what cuBLAS and cuDNN, which stay mapped, keep there; and the next session would start anew. */
#if defined(TORT_CUDA) || defined(TORT_CUDASIM)
#include "kernels/cuda/context.h"

#include <stddef.h>
#include <string.h>

enum { INTERFACE = 12000 }; /* the version of the driver's functions whose prototypes stand in context.h */

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
typedef int cuda_contexts_are_in_builds_with_cuda; /* ISO C wants a declaration */
#endif
