/* varints.h - decoding of integers as protobuf packs them, in pieces, so that encoded bytes need not be held whole.
 *
 * ONNX stores one varint an element of 8 bits or more (floats as their bits) and of 6 bits; of 4 and 2 bits one a byte
 * of packed elements. Used for weights that stay in their file and by loader/ for those that cannot. */
#ifndef TORT_RUNTIME_BASE_VARINTS_H
#define TORT_RUNTIME_BASE_VARINTS_H

#include "runtime/base/error.h"

typedef struct tort_varints {
    uint8_t *data; /* of the tensor; borrows */
    size_t count;  /* of varints to come in all */
    size_t done;
    unsigned bits;  /* that a varint gives to data: 6, or a multiple of 8 */
    uint64_t value; /* of the varint that is not yet complete */
    unsigned shift;
} tort_varints;

/* Varints that a tensor of `bytes` bytes and `elements` elements takes. */
size_t tort_varint_count(tort_type type, size_t elements, size_t bytes);
/* `data` has `bytes` bytes, which are cleared. */
void tort_varints_begin(tort_varints *varints, tort_type type, size_t elements, size_t bytes, void *data);
tort_status tort_varints_feed(tort_varints *varints, const uint8_t *encoded, size_t length, tort_error *error);
tort_status tort_varints_end(const tort_varints *varints, tort_error *error); /* all were there */

#endif
