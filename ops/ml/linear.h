/* linear.h - params of LinearClassifier and LinearRegressor, for every provider. */
#ifndef TORT_OPS_ML_LINEAR_H
#define TORT_OPS_ML_LINEAR_H

#include "ops/ml/labels.h"
#include "ops/ml/post_transform.h"

typedef struct tort_linear_model_params {
    int64_t targets, features;
    tort_list coefficients; /* [targets, features] */
    tort_list intercepts;   /* one per target, or none */
    tort_post_transform transform;
    tort_labels labels; /* of a classifier */
} tort_linear_model_params;

#endif
