/* loss.h - params of NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss, for every provider. */
#ifndef TORT_OPS_LOSS_H
#define TORT_OPS_LOSS_H

#include "runtime/include/op.h"

typedef enum tort_loss_reduction { TORT_LOSS_NONE, TORT_LOSS_SUM, TORT_LOSS_MEAN } tort_loss_reduction;

/* Views scores as [batch, classes, inner], targets as [batch, inner]. */
typedef struct tort_loss_params {
    int64_t batch, classes, inner;
    tort_loss_reduction reduction;
    bool ignores;
    int64_t ignore_index;
} tort_loss_params;

#endif
