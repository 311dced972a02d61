/* einsum.h - params of Einsum, for every provider. */
#ifndef TORT_OPS_EINSUM_H
#define TORT_OPS_EINSUM_H

#include "runtime/tinyort.h"

#define TORT_EINSUM_LABELS (52 + TORT_MAX_RANK) /* letters, and the dimensions that "..." stands for */
#define TORT_EINSUM_OPERANDS 16

/* A tensor as the equation sees it: label l moves it by strides[l] elements (0: it does not have that label, or
 * repeats along it; a label that occurs twice moves along the diagonal). */
typedef struct tort_einsum_operand {
    int64_t count; /* elements */
    int64_t strides[TORT_EINSUM_LABELS];
} tort_einsum_operand;

/* Labels are numbered; only those of the equation are in 0..label_count-1. As long as a shape is not known there are no
 * strides, and sizes may be below 0; as long as a rank is not known there is nothing. */
typedef struct tort_einsum_params {
    int32_t label_count, operand_count, output_rank;
    int64_t sizes[TORT_EINSUM_LABELS];
    bool in_output[TORT_EINSUM_LABELS];
    uint64_t uses[TORT_EINSUM_OPERANDS]; /* bit l: the operand has label l */
    tort_einsum_operand operands[TORT_EINSUM_OPERANDS], output;
} tort_einsum_params;

#endif
