/* epilogue.h - what a fused operator (domains `tinyort` and `com.microsoft`) does to each element of a result before it
 * is stored: y = activation(result + bias + residual). Shared by the kernels of all devices.
 *
 * The rows of fused operators stand beside those that they fuse, in conv.c, gemm.c and matmul.c; a plain operator has
 * the same params, whose epilogue is all zero: no activation, no residual. Read next: epilogue.c. */
#ifndef TORT_OPS_EPILOGUE_H
#define TORT_OPS_EPILOGUE_H

#include "runtime/op.h"

/* In brackets the value of attribute `activation`. */
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

/* Plain data. NaN stays NaN in every activation. */
typedef struct tort_epilogue {
    tort_activation activation;
    float alpha, beta; /* attributes activation_alpha and activation_beta; 0 where they are absent */
    bool residual;     /* input Z is there, of exactly the shape of Y, and is added */
} tort_epilogue;

#define TORT_EPILOGUE_Z 3 /* the number of input Z, the same for every fused operator */
#define TORT_EPILOGUE_ATTRIBUTES "activation:string=none activation_alpha:float activation_beta:float"

/* After output 0 is known: TORT_E_MODEL if Z does not have its shape. */
tort_status tort_epilogue_infer(const tort_infer *infer);
/* TORT_E_MODEL if there is no such activation. */
tort_status tort_epilogue_resolve(const tort_resolve *resolve, tort_epilogue *epilogue);
/* The same in com.microsoft, where `activation` is the name of an operator and absent if there is none. Its numbers are
 * a list, activation_params, or attributes activation_alpha, activation_beta and activation_gamma. */
tort_status tort_epilogue_resolve_operator(const tort_resolve *resolve, tort_epilogue *epilogue);
/* The activation of a single number. */
double tort_epilogue_activate(const tort_epilogue *epilogue, double x);
/* The plain loop: y = activation(y + bias + Z) over output 0, of any float type. `bias` (NULL: none) has one element
 * for each along Y's last axis, or a single one. */
void tort_epilogue_run(const tort_call *call, const tort_epilogue *epilogue, const tort_tensor *bias);

#endif
