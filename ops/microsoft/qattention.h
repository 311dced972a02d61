/* qattention.h - QAttention as a product of bytes and an Attention, for every provider. */
#ifndef TORT_OPS_MICROSOFT_QATTENTION_H
#define TORT_OPS_MICROSOFT_QATTENTION_H

#include "ops/heads.h"
#include "ops/integer_matmul.h"
#include "ops/quantized.h"

enum { TORT_QATTENTION_OPERANDS = 5 }; /* of Attention: input, weights, bias, mask, past */

/* Params. Those of Attention come first: a call of QAttention is one of Attention whose projection is made already. */
typedef struct tort_qattention {
    tort_heads_params heads;
    uint64_t heads_scratch; /* of the plain loop: bytes, a multiple of 64; those of the product follow */
} tort_qattention;

/* Inputs of the product, whose sums are floats. */
extern const tort_integer_inputs tort_qattention_product;

/* View of the node as Attention, whose input and weights have the type of the bias. */
void tort_qattention_view(const tort_node_view *node, tort_operands *view);
/* Operands of the Attention; absent ones have no type. */
void tort_qattention_operands(const tort_call *call, tort_tensor *operands);

#endif
