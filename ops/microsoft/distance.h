/* distance.h - params of com.microsoft's CDist, for every provider. */
#ifndef TORT_OPS_MICROSOFT_DISTANCE_H
#define TORT_OPS_MICROSOFT_DISTANCE_H

#include "runtime/include/tinyort.h"

typedef struct tort_distance_params {
    int64_t a_rows, b_rows, columns;
    bool root; /* euclidean; else sqeuclidean */
} tort_distance_params;

#endif
