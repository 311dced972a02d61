/* cudart.h - the part of the CUDA runtime API that the simulated device offers: constants, structs, functions.
 *
 * Names, values and prototypes are those of CUDA 13, so that host code compiles against either; a test compares each
 * row of the lists with NVIDIA's headers where those are installed. Structs that NVIDIA's library fills (properties,
 * attributes) have the members that host code may read, not NVIDIA's layout. C and C++. Host code includes
 * kernels/cuda/cuda_api.h, which chooses between this header and NVIDIA's. Read next: api.h. */
#ifndef CUDASIM_CUDART_H
#define CUDASIM_CUDART_H

#include <stddef.h>

/* name, value, text of cudaGetErrorString */
#define CUDASIM_ERRORS(X)                                                                                              \
    X(cudaSuccess, 0, "no error")                                                                                      \
    X(cudaErrorInvalidValue, 1, "invalid argument")                                                                    \
    X(cudaErrorMemoryAllocation, 2, "out of memory")                                                                   \
    X(cudaErrorInitializationError, 3, "initialization error")                                                         \
    X(cudaErrorCudartUnloading, 4, "driver shutting down")                                                             \
    X(cudaErrorInvalidConfiguration, 9, "invalid configuration argument")                                              \
    X(cudaErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy")                                        \
    X(cudaErrorStubLibrary, 34, "CUDA driver is a stub library")                                                       \
    X(cudaErrorInsufficientDriver, 35, "CUDA driver version is insufficient for CUDA runtime version")                 \
    X(cudaErrorDevicesUnavailable, 46, "CUDA-capable device(s) is/are busy or unavailable")                            \
    X(cudaErrorInvalidDeviceFunction, 98, "invalid device function")                                                   \
    X(cudaErrorNoDevice, 100, "no CUDA-capable device is detected")                                                    \
    X(cudaErrorInvalidDevice, 101, "invalid device ordinal")                                                           \
    X(cudaErrorNoKernelImageForDevice, 209, "no kernel image is available for execution on the device")                \
    X(cudaErrorECCUncorrectable, 214, "uncorrectable ECC error encountered")                                           \
    X(cudaErrorInvalidPtx, 218, "a PTX JIT compilation failed")                                                        \
    X(cudaErrorUnsupportedPtxVersion, 222, "the provided PTX was compiled with an unsupported toolchain.")             \
    X(cudaErrorContained, 226, "an error that is contained in one context")                                            \
    X(cudaErrorInvalidResourceHandle, 400, "invalid resource handle")                                                  \
    X(cudaErrorIllegalState, 401, "the operation cannot be performed in the present state")                            \
    X(cudaErrorSymbolNotFound, 500, "named symbol not found")                                                          \
    X(cudaErrorNotReady, 600, "device not ready")                                                                      \
    X(cudaErrorIllegalAddress, 700, "an illegal memory access was encountered")                                        \
    X(cudaErrorLaunchOutOfResources, 701, "too many resources requested for launch")                                   \
    X(cudaErrorLaunchTimeout, 702, "the launch timed out and was terminated")                                          \
    X(cudaErrorAssert, 710, "device-side assert triggered")                                                            \
    X(cudaErrorHardwareStackError, 714, "hardware stack error")                                                        \
    X(cudaErrorIllegalInstruction, 715, "an illegal instruction was encountered")                                      \
    X(cudaErrorMisalignedAddress, 716, "misaligned address")                                                           \
    X(cudaErrorInvalidAddressSpace, 717, "operation not supported on global/shared address space")                     \
    X(cudaErrorInvalidPc, 718, "invalid program counter")                                                              \
    X(cudaErrorLaunchFailure, 719, "unspecified launch failure")                                                       \
    X(cudaErrorSystemNotReady, 802, "system not yet initialized")                                                      \
    X(cudaErrorSystemDriverMismatch, 803, "system has unsupported display driver / cuda driver combination")           \
    X(cudaErrorCompatNotSupportedOnDevice, 804, "forward compatibility was attempted on non supported HW")             \
    X(cudaErrorStreamCaptureUnsupported, 900, "operation not permitted when stream is capturing")                      \
    X(cudaErrorStreamCaptureInvalidated, 901, "operation failed due to a previous error during capture")               \
    X(cudaErrorStreamCaptureWrongThread, 908,                                                                          \
      "attempt to terminate a thread-local capture sequence from another thread")                                      \
    X(cudaErrorUnknown, 999, "unknown error")

#define CUDASIM_DEVICE_ATTRIBUTES(X)                                                                                   \
    X(cudaDevAttrMaxThreadsPerBlock, 1)                                                                                \
    X(cudaDevAttrMaxSharedMemoryPerBlock, 8)                                                                           \
    X(cudaDevAttrWarpSize, 10)                                                                                         \
    X(cudaDevAttrMultiProcessorCount, 16)                                                                              \
    X(cudaDevAttrIntegrated, 18)                                                                                       \
    X(cudaDevAttrComputeMode, 20)                                                                                      \
    X(cudaDevAttrPciBusId, 33)                                                                                         \
    X(cudaDevAttrPciDeviceId, 34)                                                                                      \
    X(cudaDevAttrL2CacheSize, 38)                                                                                      \
    X(cudaDevAttrComputeCapabilityMajor, 75)                                                                           \
    X(cudaDevAttrComputeCapabilityMinor, 76)                                                                           \
    X(cudaDevAttrMaxSharedMemoryPerMultiprocessor, 81)                                                                 \
    X(cudaDevAttrMaxSharedMemoryPerBlockOptin, 97)                                                                     \
    X(cudaDevAttrMemoryPoolsSupported, 115)

#define CUDASIM_COPY_KINDS(X)                                                                                          \
    X(cudaMemcpyHostToHost, 0)                                                                                         \
    X(cudaMemcpyHostToDevice, 1)                                                                                       \
    X(cudaMemcpyDeviceToHost, 2)                                                                                       \
    X(cudaMemcpyDeviceToDevice, 3)                                                                                     \
    X(cudaMemcpyDefault, 4)

#define CUDASIM_MEMORY_TYPES(X)                                                                                        \
    X(cudaMemoryTypeUnregistered, 0)                                                                                   \
    X(cudaMemoryTypeHost, 1)                                                                                           \
    X(cudaMemoryTypeDevice, 2)

#define CUDASIM_FUNCTION_ATTRIBUTES(X)                                                                                 \
    X(cudaFuncAttributeMaxDynamicSharedMemorySize, 8)                                                                  \
    X(cudaFuncAttributePreferredSharedMemoryCarveout, 9)

#define CUDASIM_CAPTURE_MODES(X)                                                                                       \
    X(cudaStreamCaptureModeGlobal, 0)                                                                                  \
    X(cudaStreamCaptureModeThreadLocal, 1)                                                                             \
    X(cudaStreamCaptureModeRelaxed, 2)

#define CUDASIM_CAPTURE_STATES(X)                                                                                      \
    X(cudaStreamCaptureStatusNone, 0)                                                                                  \
    X(cudaStreamCaptureStatusActive, 1)                                                                                \
    X(cudaStreamCaptureStatusInvalidated, 2)

#define CUDASIM_FLAGS(X)                                                                                               \
    X(cudaStreamDefault, 0)                                                                                            \
    X(cudaStreamNonBlocking, 1)                                                                                        \
    X(cudaEventDefault, 0)                                                                                             \
    X(cudaEventDisableTiming, 2)                                                                                       \
    X(cudaHostAllocDefault, 0)                                                                                         \
    X(cudaHostAllocPortable, 1)                                                                                        \
    X(cudaEnableDefault, 0)

#define CUDASIM_ENTRY_POINT_RESULTS(X)                                                                                 \
    X(cudaDriverEntryPointSuccess, 0)                                                                                  \
    X(cudaDriverEntryPointSymbolNotFound, 1)                                                                           \
    X(cudaDriverEntryPointVersionNotSufficent, 2)

#ifndef CUDASIM_AGAINST_NVIDIA_HEADERS

#include "kernels/cudasim/vector_types.h"

#define CUDASIM_ENUMERATE(name, value, ...) name = value,
enum cudaError { CUDASIM_ERRORS(CUDASIM_ENUMERATE) };
enum cudaDeviceAttr { CUDASIM_DEVICE_ATTRIBUTES(CUDASIM_ENUMERATE) };
enum cudaMemcpyKind { CUDASIM_COPY_KINDS(CUDASIM_ENUMERATE) };
enum cudaMemoryType { CUDASIM_MEMORY_TYPES(CUDASIM_ENUMERATE) };
enum cudaFuncAttribute { CUDASIM_FUNCTION_ATTRIBUTES(CUDASIM_ENUMERATE) };
enum cudaStreamCaptureMode { CUDASIM_CAPTURE_MODES(CUDASIM_ENUMERATE) };
enum cudaStreamCaptureStatus { CUDASIM_CAPTURE_STATES(CUDASIM_ENUMERATE) };
enum cudaDriverEntryPointQueryResult { CUDASIM_ENTRY_POINT_RESULTS(CUDASIM_ENUMERATE) };
enum { CUDASIM_FLAGS(CUDASIM_ENUMERATE) };
#undef CUDASIM_ENUMERATE

typedef enum cudaError cudaError_t;
typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;

/* Types of the driver API (CUDASIM_DRIVER_FUNCTIONS); its error codes equal cudaError's. */
typedef enum cudaError_enum { CUDA_SUCCESS = 0, CUDA_ERROR_UNKNOWN = 999 } CUresult;
typedef int CUdevice;
typedef struct CUctx_st *CUcontext;

struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem;
    size_t sharedMemPerBlock;
    size_t sharedMemPerBlockOptin;
    int major, minor;
    int multiProcessorCount;
    int warpSize;
    int maxThreadsPerBlock;
    int maxGridSize[3];
    int l2CacheSize;
    int integrated;
    int pciBusID, pciDeviceID;
};

struct cudaPointerAttributes {
    enum cudaMemoryType type;
    int device;
    void *devicePointer;
    void *hostPointer;
};

struct cudaFuncAttributes {
    size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion;
    int maxDynamicSharedSizeBytes;
};

#endif

/* return type, name, parameters */
#define CUDASIM_FUNCTIONS(X)                                                                                           \
    X(cudaError_t, cudaGetLastError, (void))                                                                           \
    X(cudaError_t, cudaPeekAtLastError, (void))                                                                        \
    X(const char *, cudaGetErrorName, (cudaError_t error))                                                             \
    X(const char *, cudaGetErrorString, (cudaError_t error))                                                           \
    X(cudaError_t, cudaDriverGetVersion, (int *version))                                                               \
    X(cudaError_t, cudaGetDeviceCount, (int *count))                                                                   \
    X(cudaError_t, cudaSetDevice, (int device))                                                                        \
    X(cudaError_t, cudaGetDevice, (int *device))                                                                       \
    X(cudaError_t, cudaGetDeviceProperties, (struct cudaDeviceProp * properties, int device))                          \
    X(cudaError_t, cudaDeviceGetAttribute, (int *value, enum cudaDeviceAttr attribute, int device))                    \
    X(cudaError_t, cudaDeviceGetPCIBusId, (char *text, int length, int device))                                        \
    X(cudaError_t, cudaDeviceSynchronize, (void))                                                                      \
    X(cudaError_t, cudaGetDriverEntryPointByVersion,                                                                   \
      (const char *symbol, void **function, unsigned int version, unsigned long long flags,                            \
       enum cudaDriverEntryPointQueryResult *result))                                                                  \
    X(cudaError_t, cudaMemGetInfo, (size_t * free_bytes, size_t * total_bytes))                                        \
    X(cudaError_t, cudaMalloc, (void **memory, size_t bytes))                                                          \
    X(cudaError_t, cudaFree, (void *memory))                                                                           \
    X(cudaError_t, cudaMallocAsync, (void **memory, size_t bytes, cudaStream_t stream))                                \
    X(cudaError_t, cudaFreeAsync, (void *memory, cudaStream_t stream))                                                 \
    X(cudaError_t, cudaMallocHost, (void **memory, size_t bytes))                                                      \
    X(cudaError_t, cudaHostAlloc, (void **memory, size_t bytes, unsigned int flags))                                   \
    X(cudaError_t, cudaFreeHost, (void *memory))                                                                       \
    X(cudaError_t, cudaPointerGetAttributes, (struct cudaPointerAttributes * attributes, const void *pointer))         \
    X(cudaError_t, cudaMemcpy, (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind))                   \
    X(cudaError_t, cudaMemcpyAsync,                                                                                    \
      (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream))                       \
    X(cudaError_t, cudaMemcpyPeerAsync,                                                                                \
      (void *to, int to_device, const void *from, int from_device, size_t bytes, cudaStream_t stream))                 \
    X(cudaError_t, cudaMemset, (void *memory, int value, size_t bytes))                                                \
    X(cudaError_t, cudaMemsetAsync, (void *memory, int value, size_t bytes, cudaStream_t stream))                      \
    X(cudaError_t, cudaStreamCreate, (cudaStream_t * stream))                                                          \
    X(cudaError_t, cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned int flags))                             \
    X(cudaError_t, cudaStreamDestroy, (cudaStream_t stream))                                                           \
    X(cudaError_t, cudaStreamSynchronize, (cudaStream_t stream))                                                       \
    X(cudaError_t, cudaStreamQuery, (cudaStream_t stream))                                                             \
    X(cudaError_t, cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned int flags))                  \
    X(cudaError_t, cudaEventCreate, (cudaEvent_t * event))                                                             \
    X(cudaError_t, cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned int flags))                                \
    X(cudaError_t, cudaEventDestroy, (cudaEvent_t event))                                                              \
    X(cudaError_t, cudaEventRecord, (cudaEvent_t event, cudaStream_t stream))                                          \
    X(cudaError_t, cudaEventQuery, (cudaEvent_t event))                                                                \
    X(cudaError_t, cudaEventSynchronize, (cudaEvent_t event))                                                          \
    X(cudaError_t, cudaEventElapsedTime, (float *milliseconds, cudaEvent_t start, cudaEvent_t end))                    \
    X(cudaError_t, cudaFuncGetAttributes, (struct cudaFuncAttributes * attributes, const void *function))              \
    X(cudaError_t, cudaFuncSetAttribute, (const void *function, enum cudaFuncAttribute attribute, int value))          \
    X(cudaError_t, cudaLaunchKernel,                                                                                   \
      (const void *function, dim3 grid, dim3 block, void **arguments, size_t shared_bytes, cudaStream_t stream))       \
    X(cudaError_t, cudaStreamBeginCapture, (cudaStream_t stream, enum cudaStreamCaptureMode mode))                     \
    X(cudaError_t, cudaStreamIsCapturing, (cudaStream_t stream, enum cudaStreamCaptureStatus * status))                \
    X(cudaError_t, cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t * graph))                                   \
    X(cudaError_t, cudaGraphInstantiate, (cudaGraphExec_t * executable, cudaGraph_t graph, unsigned long long flags))  \
    X(cudaError_t, cudaGraphLaunch, (cudaGraphExec_t executable, cudaStream_t stream))                                 \
    X(cudaError_t, cudaGraphDestroy, (cudaGraph_t graph))                                                              \
    X(cudaError_t, cudaGraphExecDestroy, (cudaGraphExec_t executable))

/* Driver functions, which cudaGetDriverEntryPointByVersion finds. */
#define CUDASIM_DRIVER_FUNCTIONS(X)                                                                                    \
    X(CUresult, cuDeviceGet, (CUdevice * device, int ordinal))                                                         \
    X(CUresult, cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))                                      \
    X(CUresult, cuCtxPushCurrent, (CUcontext context))                                                                 \
    X(CUresult, cuCtxPopCurrent, (CUcontext * context))

#ifndef CUDASIM_AGAINST_NVIDIA_HEADERS
#ifdef __cplusplus
extern "C" {
#endif
#define CUDASIM_DECLARE(type, name, parameters) type name parameters;
CUDASIM_FUNCTIONS(CUDASIM_DECLARE)
CUDASIM_DRIVER_FUNCTIONS(CUDASIM_DECLARE)
#undef CUDASIM_DECLARE
#ifdef __cplusplus
}
#endif
#endif

#endif
