/* status.h - a kernel's report of a bad value: one record on the device, which the first failing node claims and
 * which the host reads at the end of the run. Plain C, for host code and .cu files. */
#ifndef TORT_KERNELS_CUDA_STATUS_H
#define TORT_KERNELS_CUDA_STATUS_H

#include <stdint.h>

typedef enum gpu_fault {
    GPU_FAULT_NONE,
    GPU_FAULT_INDEX,      /* outside [-limit, limit) */
    GPU_FAULT_RANGE,      /* outside [0, limit] */
    GPU_FAULT_PROBABILITY /* a double that is none; `value` has its bits */
} gpu_fault;

typedef struct gpu_status {
    int32_t node;  /* 1 + index of the node that set it; 0: no fault */
    int32_t fault; /* gpu_fault */
    int64_t value; /* the bad value */
    int64_t place; /* row-major index of the element in its tensor */
    int64_t limit; /* see gpu_fault */
} gpu_status;

#endif
