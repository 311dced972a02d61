/* nms.h - params of NonMaxSuppression, for every provider. */
#ifndef TORT_OPS_NMS_H
#define TORT_OPS_NMS_H

#include "runtime/include/tinyort.h"

typedef struct tort_nms_params {
    int64_t batches, classes, boxes;
    bool centered; /* boxes are (x center, y center, width, height), else two corners (y, x, y, x) */
} tort_nms_params;

#endif
