/* activation.h - params of the activations, shared by every provider. */
#ifndef TORT_OPS_ACTIVATION_H
#define TORT_OPS_ACTIVATION_H

#include "ops/elementwise.h"

/* The attributes of an activation; an operator uses those that it has. */
typedef struct tort_activation_params {
    float alpha; /* of Selu, HardSigmoid, LeakyRelu ...; the lambd of Shrink */
    float beta;  /* of HardSigmoid; the gamma of Selu, the bias of Shrink */
    bool tanh;   /* Gelu: approximate="tanh" */
} tort_activation_params;

typedef struct tort_swiglu {
    tort_binary binary;
    float alpha;
} tort_swiglu;

/* The bounds of Clip where inputs 1 and 2 (opset 11 on) give none: attributes, or the limits of a type but double. */
typedef struct tort_clip {
    float low, high;
    bool limits; /* without a bound the largest finite numbers are the bounds; of double too */
} tort_clip;

#endif
