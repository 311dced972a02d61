/* status.h - how a kernel reports a bad value: a word on the device that the first wrong node wins, read at the end of
 * the run. Plain C, for host code and .cu files. */
#ifndef TORT_KERNELS_CUDA_STATUS_H
#define TORT_KERNELS_CUDA_STATUS_H

#include <stdint.h>

typedef enum gpu_fault {
    GPU_FAULT_NONE,
    GPU_FAULT_INDEX, /* not in [-limit, limit) */
    GPU_FAULT_RANGE  /* not in [0, limit] */
} gpu_fault;

typedef struct gpu_status {
    int32_t node;  /* 1 + index of the node that set it; 0: nothing is wrong */
    int32_t fault; /* gpu_fault */
    int64_t value; /* what was found */
    int64_t place; /* which element of its tensor that is, counted row by row */
    int64_t limit; /* of what may be there */
} gpu_status;

#endif
