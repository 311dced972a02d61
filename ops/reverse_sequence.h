/* reverse_sequence.h - params of ReverseSequence, for every provider. */
#ifndef TORT_OPS_REVERSE_SEQUENCE_H
#define TORT_OPS_REVERSE_SEQUENCE_H

#include "runtime/include/tinyort.h"

typedef struct tort_reverse_params {
    bool batch_first; /* [batch, time, ...] instead of [time, batch, ...] */
} tort_reverse_params;

#endif
