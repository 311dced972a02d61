/* pad.h - params of Pad: how much is added (or cut) at both ends of each axis; shared by every provider. */
#ifndef TORT_OPS_PAD_H
#define TORT_OPS_PAD_H

#include "runtime/include/tinyort.h"

typedef enum tort_pad_mode { TORT_PAD_CONSTANT, TORT_PAD_REFLECT, TORT_PAD_EDGE, TORT_PAD_WRAP } tort_pad_mode;

/* Negative amounts cut; reflect, edge and wrap do not see the cut elements. In constant mode the value is input 2, or
 * `value` if that is absent. */
typedef struct tort_pad_params {
    tort_pad_mode mode;
    int32_t rank;
    int64_t before[TORT_MAX_RANK], after[TORT_MAX_RANK];
    float value; /* attribute of opset 1 and 2 */
} tort_pad_params;

/* Position in the input that output position `at` of an axis of `size` elements reads; -1: the constant. */
int64_t tort_pad_source(const tort_pad_params *pad, int32_t axis, int64_t size, int64_t at);

#endif
