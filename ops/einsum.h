/* einsum.h - params of Einsum, for every provider. */
#ifndef TORT_OPS_EINSUM_H
#define TORT_OPS_EINSUM_H

#include "runtime/include/tinyort.h"

#define TORT_EINSUM_LABELS (52 + TORT_MAX_RANK) /* letters, and the dimensions that "..." stands for */
#define TORT_EINSUM_OPERANDS 16

/* A tensor as the equation sees it: a step along label l moves strides[l] elements. Stride 0: the tensor lacks the
 * label or broadcasts along it; a label that occurs twice walks the diagonal. */
typedef struct tort_einsum_operand {
    int64_t count; /* elements */
    int64_t strides[TORT_EINSUM_LABELS];
} tort_einsum_operand;

/* The labels of the equation are numbered 0 .. label_count-1. While a shape is unknown there are no strides, and sizes
 * may be negative; while a rank is unknown all members are 0. */
typedef struct tort_einsum_params {
    int32_t label_count, operand_count, output_rank;
    int64_t sizes[TORT_EINSUM_LABELS];
    bool in_output[TORT_EINSUM_LABELS];
    uint64_t uses[TORT_EINSUM_OPERANDS]; /* bit l: the operand has label l */
    tort_einsum_operand operands[TORT_EINSUM_OPERANDS], output;
} tort_einsum_params;

#endif
