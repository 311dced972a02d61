/* features.h - params of Binarizer, Scaler, Imputer and Normalizer, for every provider. */
#ifndef TORT_OPS_ML_FEATURES_H
#define TORT_OPS_ML_FEATURES_H

#include "runtime/include/op.h"

typedef struct tort_binarizer_params {
    double threshold;
} tort_binarizer_params;

typedef struct tort_scaler_params {
    tort_list offset, scale; /* of one length; empty: 0 and 1 */
} tort_scaler_params;

typedef struct tort_imputer_params {
    tort_list imputed; /* floats or int64s */
    double replaced_float;
    int64_t replaced_integer;
} tort_imputer_params;

typedef enum tort_norm_kind { TORT_NORM_MAX, TORT_NORM_L1, TORT_NORM_L2 } tort_norm_kind;

typedef struct tort_normalizer_params {
    tort_norm_kind norm;
} tort_normalizer_params;

#endif
