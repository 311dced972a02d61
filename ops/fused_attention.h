/* fused_attention.h - what kernels of FusedAttention need besides heads.h, which has its params. */
#ifndef TORT_OPS_FUSED_ATTENTION_H
#define TORT_OPS_FUSED_ATTENTION_H

#include "runtime/include/op.h"

/* tort_kernel.strides.restride of FusedAttention: sets the strides of Q, K or V (inputs 0 to 2) in the params. */
void tort_attention_restride(const tort_node_view *node, void *params, int32_t input, const int64_t *strides);

#endif
