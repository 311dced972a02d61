/* nvidia_headers.c - holds what we declare of NVIDIA's libraries against NVIDIA's own headers, at compile time: values
 * of all enumerators, types of all functions. Compiled only, where a CUDA toolkit is there; see nvidia_headers.sh.
 *
 * -DCUDART: kernels/cudasim/cudart.h; -DLIBRARIES: kernels/cuda/library_api.h. With -DPLANT_ERROR it must not compile.
 */
#include <assert.h>
#include <stddef.h>

#ifdef CUDART
#include <cuda.h>
#include <cuda_runtime_api.h>
#define CUDASIM_AGAINST_NVIDIA_HEADERS
#include "kernels/cudasim/cudart.h"
#endif

#ifdef LIBRARIES
#define TORT_AGAINST_NVIDIA_HEADERS
#include "kernels/cuda/library_api.h"
#endif

#define CHECK_VALUE(name, value, ...) static_assert((int)name == value, #name);
#define CHECK_TYPE(type, name, parameters)                                                                             \
    static_assert(_Generic(&name, type(*) parameters : 1, default : 0), "prototype of " #name);

#ifdef CUDART
CUDASIM_ERRORS(CHECK_VALUE)
CUDASIM_DEVICE_ATTRIBUTES(CHECK_VALUE)
CUDASIM_COPY_KINDS(CHECK_VALUE)
CUDASIM_MEMORY_TYPES(CHECK_VALUE)
CUDASIM_FUNCTION_ATTRIBUTES(CHECK_VALUE)
CUDASIM_CAPTURE_MODES(CHECK_VALUE)
CUDASIM_ENTRY_POINT_RESULTS(CHECK_VALUE)
CUDASIM_FLAGS(CHECK_VALUE)
CUDASIM_FUNCTIONS(CHECK_TYPE)
CUDASIM_DRIVER_FUNCTIONS(CHECK_TYPE)
/* What the provider takes an error of the driver for. */
#define CHECK_SAME(driver, runtime) static_assert((int)driver == (int)runtime, #driver);
CHECK_SAME(CUDA_SUCCESS, cudaSuccess)
CHECK_SAME(CUDA_ERROR_OUT_OF_MEMORY, cudaErrorMemoryAllocation)
CHECK_SAME(CUDA_ERROR_DEVICE_UNAVAILABLE, cudaErrorDevicesUnavailable)
CHECK_SAME(CUDA_ERROR_SYSTEM_NOT_READY, cudaErrorSystemNotReady)
CHECK_SAME(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, cudaErrorSystemDriverMismatch)
CHECK_SAME(CUDA_ERROR_ILLEGAL_ADDRESS, cudaErrorIllegalAddress)
#ifdef PLANT_ERROR
CHECK_VALUE(cudaErrorNoDevice, 101)
#endif
#endif

#ifdef LIBRARIES
#define CHECK_ENUMERATION(type, list) list(CHECK_VALUE)
TORT_LIBRARY_ENUMERATIONS(CHECK_ENUMERATION)
CUBLAS_FUNCTIONS(CHECK_TYPE)
CUDNN_FUNCTIONS(CHECK_TYPE)
#ifdef PLANT_ERROR
CHECK_TYPE(cublasStatus_t, cublasSetStream_v2, (cublasHandle_t handle))
#endif
#endif
