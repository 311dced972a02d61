/* dropout.h - params of Dropout, for every provider. */
#ifndef TORT_OPS_DROPOUT_H
#define TORT_OPS_DROPOUT_H

#include "ops/generator.h"

typedef struct tort_dropout_params {
    tort_seed seed;
    float ratio;      /* where it is an attribute */
    bool by_inputs;   /* ratio and training_mode are inputs 1 and 2 */
    bool is_training; /* where an attribute says so */
} tort_dropout_params;

#endif
