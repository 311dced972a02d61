/* varints.h - decodes protobuf varints piece by piece, so that encoded bytes need not be in memory as a whole.
 *
 * ONNX stores one varint for each element of 8 or more bits (floats as their bits) and of 6 bits; elements of 4 and 2
 * bits are packed, one varint for each byte. Used for weights that stay in their file, and by loader/ for others. */
#ifndef TORT_RUNTIME_GRAPH_VARINTS_H
#define TORT_RUNTIME_GRAPH_VARINTS_H

#include "runtime/core/base/error.h"

typedef struct tort_varints {
    uint8_t *data; /* of the tensor; borrowed */
    size_t count;  /* varints in all */
    size_t done;
    unsigned bits;  /* bits that a varint adds to data: 6, or a multiple of 8 */
    uint64_t value; /* of the present varint, so far */
    unsigned shift;
} tort_varints;

/* The number of varints of a tensor with so many bytes and elements. */
size_t tort_varint_count(tort_type type, size_t elements, size_t bytes);
/* `data` has `bytes` bytes, which are cleared. */
void tort_varints_begin(tort_varints *varints, tort_type type, size_t elements, size_t bytes, void *data);
tort_status tort_varints_feed(tort_varints *varints, const uint8_t *encoded, size_t length, tort_error *error);
tort_status tort_varints_end(const tort_varints *varints, tort_error *error); /* checks that all were there */

#endif
