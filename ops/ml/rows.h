/* rows.h - inputs of rows of features: a matrix [N, C], or [C], a single row. */
#ifndef TORT_OPS_ML_ROWS_H
#define TORT_OPS_ML_ROWS_H

#include "runtime/include/op.h"

/* Rows and features of input i, unknown if its rank or dims are. TORT_E_MODEL if it is neither [N, C] nor [C]. */
tort_status tort_infer_rows(const tort_infer *infer, int32_t i, tort_dim *rows, tort_dim *features);
/* Checks the number of features, if known: TORT_E_MODEL if it is not `wanted`, the number of `what` ("coefficients").
 */
tort_status tort_check_features(tort_error *error, tort_dim features, int64_t wanted, const char *what);

int64_t tort_row_count(const tort_tensor *x);
int64_t tort_row_features(const tort_tensor *x);

/* Dot product of elements first .. first+count-1 of input 0, rounded to float, and the weights. */
double tort_row_dot(const tort_call *call, int64_t first, const float *weights, int64_t count);
/* Squared Euclidean distance between these elements and a point. */
double tort_row_distance(const tort_call *call, int64_t first, const float *point, int64_t count);

#endif
