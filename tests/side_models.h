/* side_models.h - four small models, one for each way in which the memory of a run follows its inputs, for programs
 * that run contexts side by side: random calls, and the soak. */
#ifndef TORT_TESTS_SIDE_MODELS_H
#define TORT_TESTS_SIDE_MODELS_H

#include "tests/onnx_bytes.h"

typedef enum side {
    SIDE_SYMBOLS,   /* x, z [N,8] -> y [N,4] */
    SIDE_DYNAMIC,   /* x [N] -> where [1,?], unique [?] */
    SIDE_SEQUENCES, /* s string [N], q seq(float) -> twice [N], list seq(string), longer seq(float) */
    SIDE_LOOP,      /* n int64, x [N] -> sum [N], steps [n,N] */
    SIDE_COUNT
} side;

enum { SIDE_PORTS = 3 }; /* inputs and outputs that a model has at most */

void side_model(onnx_bytes *b, side which);
int32_t side_input_count(side which);
int32_t side_output_count(side which);
/* Inputs of a run with N, and trips, of this size: one new reference each, NULL where memory ran out. */
void side_inputs(const tort_env *env, side which, int64_t size, const tort_value **inputs);

#endif
