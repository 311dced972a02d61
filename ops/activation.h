/* activation.h - params of the activations, shared by every provider. */
#ifndef TORT_OPS_ACTIVATION_H
#define TORT_OPS_ACTIVATION_H

#include "ops/elementwise.h"

/* Attributes of an activation; each operator reads only those that its schema has. */
typedef struct tort_activation_params {
    float alpha; /* of Selu, HardSigmoid, LeakyRelu ...; the lambd of Shrink */
    float beta;  /* of HardSigmoid; the gamma of Selu, the bias of Shrink */
    bool tanh;   /* Gelu: approximate="tanh" */
} tort_activation_params;

typedef struct tort_swiglu {
    tort_binary binary;
    float alpha;
} tort_swiglu;

/* Bounds of Clip where the inputs min and max (opset 11 on) are absent: attributes, or the limits of the type. */
typedef struct tort_clip {
    float low, high;
    bool limits; /* opset 11 on: an absent bound is the largest finite number; run_clip sets that of double */
} tort_clip;

/* Upper bound of Clip where neither an attribute nor an input gives one. Before opset 11 it is infinity (opset 6 has
 * attribute defaults of FLT_MAX); from opset 11 on, the largest finite number of the type (of double: see run_clip). */
float tort_clip_largest(const tort_op *op, tort_type type);

#endif
