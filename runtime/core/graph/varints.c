/* varints.c - see varints.h. Assumes a little-endian host: memcpy of the low bytes stores a number. */
#include "runtime/core/graph/varints.h"

#include <string.h>

size_t tort_varint_count(tort_type type, size_t elements, size_t bytes) {
    int bits = tort_type_bits(type);
    return bits == 4 || bits == 2 ? bytes : elements;
}

void tort_varints_begin(tort_varints *varints, tort_type type, size_t elements, size_t bytes, void *data) {
    int bits = tort_type_bits(type);
    *varints = (tort_varints){.data = data, .count = tort_varint_count(type, elements, bytes)};
    varints->bits = bits == 4 || bits == 2 ? 8 : (unsigned)bits;
    if (bytes) memset(data, 0, bytes);
}

/* Elements of 6 bits are packed from the lowest bit of the first byte on. The data is zero before. */
static void store_bits(uint8_t *data, size_t at, unsigned bits, uint64_t value) {
    for (unsigned b = 0; b < bits; b++, at++)
        if (value >> b & 1) data[at / 8] = (uint8_t)(data[at / 8] | 1u << at % 8);
}

static void store(tort_varints *varints) {
    size_t at = varints->done++ * varints->bits;
    if (varints->bits % 8)
        store_bits(varints->data, at, varints->bits, varints->value);
    else
        memcpy(varints->data + at / 8, &varints->value, varints->bits / 8);
    varints->value = 0;
    varints->shift = 0;
}

tort_status tort_varints_feed(tort_varints *varints, const uint8_t *encoded, size_t length, tort_error *error) {
    for (size_t i = 0; i < length; i++) {
        if (varints->done == varints->count)
            return tort_fail(error, TORT_E_MODEL, "the data of a tensor is more than the %zu numbers of its shape",
                             varints->count);
        if (varints->shift > 63)
            return tort_fail(error, TORT_E_MODEL, "number %zu of a tensor's data has more than 10 bytes",
                             varints->done);
        varints->value |= (uint64_t)(encoded[i] & 0x7f) << varints->shift;
        varints->shift += 7;
        if (!(encoded[i] & 0x80)) store(varints);
    }
    return TORT_OK;
}

tort_status tort_varints_end(const tort_varints *varints, tort_error *error) {
    if (varints->done == varints->count) return TORT_OK;
    return tort_fail(error, TORT_E_MODEL, "the data of a tensor ends after %zu of %zu numbers", varints->done,
                     varints->count);
}
