/* write.h - a net with some of its nodes in 8 bits, as a message in ONNX's own operators (QDQ). */
#ifndef TORT_QUANTIZE_WRITE_H
#define TORT_QUANTIZE_WRITE_H

#include "runtime/quantize/ranges.h"
#include "runtime/quantize/weights.h"

/* Weights in 8 bits, made once for all messages of a net: by value. A weight that two nodes read along different axes
 * is made anew for the second. */
typedef struct tort_weight_cache {
    tort_byte_weights *by_value; /* codes NULL: not yet made */
    int32_t *axes;
    tort_maker *maker;
} tort_weight_cache;

typedef struct tort_write_choice {
    const tort_rules *rules;
    const bool *bytes;          /* by node: it is in 8 bits. Units are whole */
    const tort_range *ranges;   /* by value */
    const double *const *shift; /* by node: what to add to its bias, by channel; NULL: nothing. NULL: to none */
    tort_scheme scheme;
    tort_weight_cache *weights;
    const int32_t *more; /* values that the message gives too, behind its outputs */
    int32_t more_count;
} tort_write_choice;

TortOnnx__ModelProto *tort_write_bytes(const tort_write_choice *choice, tort_maker *maker);
/* The net in float32, with a twin in 8 bits beside each node of the choice whose bias can be corrected, fed with the
 * float network's own input. Its outputs are the means by channel of what the twins lack: means[node] is the name, or
 * NULL. */
TortOnnx__ModelProto *tort_write_twins(const tort_write_choice *choice, int64_t opset, const char **means,
                                       tort_maker *maker);

#endif
