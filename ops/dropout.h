/* dropout.h - params of Dropout, for every provider. */
#ifndef TORT_OPS_DROPOUT_H
#define TORT_OPS_DROPOUT_H

#include "ops/generator.h"

typedef struct tort_dropout_params {
    tort_seed seed;
    float ratio;      /* of the attribute, before opset 12 */
    bool by_inputs;   /* ratio and training_mode are inputs 1 and 2 */
    bool is_training; /* before opset 7: is_test=0 */
} tort_dropout_params;

#endif
