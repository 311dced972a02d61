/* epilogue.h - the last step of a fused operator (domains `tinyort` and `com.microsoft`), on each element before it is
 * stored: y = activation(result + bias + residual). Shared by the kernels of all devices.
 *
 * The rows of fused operators stand beside the operators that they fuse, in conv.c, gemm.c and matmul.c; a plain
 * operator has the same params, whose epilogue is all zero: no activation, no residual. Read next: epilogue.c. */
#ifndef TORT_OPS_EPILOGUE_H
#define TORT_OPS_EPILOGUE_H

#include "runtime/include/op.h"

/* In quotes the value of attribute `activation`. */
typedef enum tort_activation {
    TORT_ACTIVATION_NONE,             /* "none": x */
    TORT_ACTIVATION_RELU,             /* "relu": max(x, 0) */
    TORT_ACTIVATION_LEAKY_RELU,       /* "leaky_relu": alpha * x below 0 */
    TORT_ACTIVATION_CLIP,             /* "clip": from alpha to beta; beta where alpha > beta */
    TORT_ACTIVATION_SIGMOID,          /* "sigmoid": 1 / (1 + e^-x) */
    TORT_ACTIVATION_SILU,             /* "silu": x * sigmoid(x) */
    TORT_ACTIVATION_HARD_SIGMOID,     /* "hard_sigmoid": alpha * x + beta, from 0 to 1 */
    TORT_ACTIVATION_HARD_SWISH,       /* "hard_swish": x * (x / 6 + 1/2, from 0 to 1) */
    TORT_ACTIVATION_GELU,             /* "gelu": x / 2 * (1 + erf(x / sqrt 2)) */
    TORT_ACTIVATION_GELU_TANH,        /* "gelu_tanh": x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) */
    TORT_ACTIVATION_TANH,             /* "tanh" */
    TORT_ACTIVATION_ELU,              /* "elu": alpha * (e^x - 1) below 0 */
    TORT_ACTIVATION_SELU,             /* "selu": beta * elu(x) */
    TORT_ACTIVATION_CELU,             /* "celu": alpha * (e^(x / alpha) - 1) below 0 */
    TORT_ACTIVATION_SOFTPLUS,         /* "softplus": log(1 + e^x) */
    TORT_ACTIVATION_SOFTSIGN,         /* "softsign": x / (1 + |x|) */
    TORT_ACTIVATION_THRESHOLDED_RELU, /* "thresholded_relu": 0 up to alpha */
    TORT_ACTIVATION_COUNT
} tort_activation;

/* NaN stays NaN in every activation but THRESHOLDED_RELU, which gives 0. */
typedef struct tort_epilogue {
    tort_activation activation;
    float alpha, beta; /* attributes activation_alpha and activation_beta; 0 where they are absent */
    bool residual;     /* adds input Z, which has exactly the shape of Y */
} tort_epilogue;

#define TORT_EPILOGUE_Z 3 /* index of input Z, the same for every fused operator */
#define TORT_EPILOGUE_ATTRIBUTES "activation:string=none activation_alpha:float activation_beta:float"

/* Call it after output 0 is inferred: TORT_E_MODEL if input i, if it is there, does not have its shape. */
tort_status tort_infer_added(const tort_infer *infer, int32_t i, const char *name);
/* Reads the attributes of `tinyort`; TORT_E_MODEL if there is no such activation. */
tort_status tort_epilogue_resolve(const tort_resolve *resolve, tort_epilogue *epilogue);
/* Reads those of com.microsoft, where `activation` names an operator or is absent. Its numbers are the list
 * activation_params, or attributes activation_alpha, activation_beta and activation_gamma. */
tort_status tort_epilogue_resolve_operator(const tort_resolve *resolve, tort_epilogue *epilogue);
/* Applies the activation to a single number. */
double tort_epilogue_activate(const tort_epilogue *epilogue, double x);
/* The plain loop: y = activation(y + bias + Z) over output 0, of any float type. `bias` (NULL: none) has one element,
 * or one for each index of Y's last axis. */
void tort_epilogue_run(const tort_call *call, const tort_epilogue *epilogue, const tort_tensor *bias);

#endif
