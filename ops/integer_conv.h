/* integer_conv.h - params of com.microsoft's QLinearConv, for every provider. Read next: integer_conv.c. */
#ifndef TORT_OPS_INTEGER_CONV_H
#define TORT_OPS_INTEGER_CONV_H

#include "ops/conv.h"

typedef struct tort_either_conv {
    tort_conv_params conv; /* of tensors with the channels first */
    bool channels_last;    /* x and y have them last; w never has */
} tort_either_conv;

/* Runs a kernel for channels first on them as they are, or moved (channels_last.h). */
tort_status tort_either_conv_run(const tort_call *call, tort_status (*run)(const tort_call *call));
/* Adds what moving takes to *scratch. */
tort_status tort_either_conv_size(const tort_node_view *node, const tort_either_conv *params, size_t *scratch,
                                  tort_error *error);

#endif
