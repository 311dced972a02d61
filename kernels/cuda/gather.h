/* gather.h - interface between gather.c and gather.cu: elements and slices by index. Plain C. */
#ifndef TORT_KERNELS_CUDA_GATHER_H
#define TORT_KERNELS_CUDA_GATHER_H

#include "kernels/cuda/broadcast.h"
#include "ops/gather.h"

typedef enum gpu_gather_kind { GPU_GATHER, GPU_GATHER_ELEMENTS, GPU_GATHER_ND } gpu_gather_kind;

/* Operands of indexing: indices into data, whose type is float, half or any type of 1, 2, 4 or 8 bytes. */
typedef struct gpu_indexing {
    int32_t element_bytes, index_bytes; /* index_bytes: 4 or 8; tuples have 8 */
    int32_t node;                       /* node that reports an index out of range */
    const void *data, *indices;
    void *output, *status;
} gpu_indexing;

/* Elements that GatherElements and ScatterElements address. */
typedef struct gpu_elements {
    gpu_loop loop;      /* over the indices; operand 0: their element of data at the start of the axis */
    int64_t size, step; /* of the axis: its length, and its stride */
} gpu_elements;

GPU_LAUNCHER gpu_run_gather(gpu_stream stream, const gpu_indexing *call, const tort_gather_params *params);
GPU_LAUNCHER gpu_run_gather_elements(gpu_stream stream, const gpu_indexing *call, const gpu_elements *elements);
GPU_LAUNCHER gpu_run_gather_nd(gpu_stream stream, const gpu_indexing *call, const tort_gather_nd_params *params);
GPU_LAUNCHER gpu_load_gather(gpu_gather_kind kind, int32_t element_bytes, int32_t index_bytes);

/* Indexing by input 1 of the node into input 0. */
gpu_indexing gpu_indexing_of(const tort_call *call);
gpu_elements gpu_elements_of(const tort_tensor *data, const tort_tensor *indices, int32_t axis);

#endif
