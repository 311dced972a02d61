/* fuse.h - helpers of fusions with constants. */
#ifndef TORT_OPS_FUSE_H
#define TORT_OPS_FUSE_H

#include "runtime/include/tinyort.h"

struct tort_match; /* runtime/include/pattern.h */

/* Reads constant `name` as one number for each of the `size` indices of `axis` of a value of this rank. False if it is
 * not such a list, or a single number, that broadcasts to the value. */
bool tort_match_spread(struct tort_match *match, const char *name, int32_t rank, int32_t axis, int64_t size,
                       double *numbers);
/* Replaces operand b by a list of these numbers. False: out of memory. */
bool tort_match_replace_bias(struct tort_match *match, tort_type type, int64_t count, const double *numbers);

#endif
