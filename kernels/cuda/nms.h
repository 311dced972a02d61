/* nms.h - NonMaxSuppression: arguments and launchers of nms.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_NMS_H
#define TORT_KERNELS_CUDA_NMS_H

#include "kernels/cuda/claims.h"

/* A list is a class of a batch. Limits that are NULL are absent. */
typedef struct gpu_nms {
    size_t lists, classes, count; /* count: boxes of a batch */
    bool centered;
    const float *boxes, *scores;
    const int64_t *max_boxes; /* per list */
    const float *iou_threshold, *score_threshold;
    size_t room;      /* keys of a list: a power of two, not less than count */
    uint64_t *keys;   /* `room` a list; at the end the selected boxes of each, best first */
    uint64_t *counts; /* by list: boxes that are selected; behind the last the sum */
    uint32_t *arrivals;
    int64_t *selected; /* of gpu_run_nms_write: (batch, class, box) of each */
} gpu_nms;

/* The first selects the boxes of each list, the second, behind it, writes them as one. */
GPU_LAUNCHER gpu_run_nms_select(gpu_stream stream, const gpu_nms *nms);
GPU_LAUNCHER gpu_run_nms_write(gpu_stream stream, const gpu_nms *nms);
GPU_LAUNCHER gpu_load_nms(void);

#endif
