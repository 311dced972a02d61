/* types.c - names and sizes of element types, statuses and verdicts; sizes of tensors.
 *
 * The tables are indexed by the enumerations in tinyort.h; a new enumerator needs a new row here. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/core/base/memory.h"
#include "runtime/include/op.h"

static const struct {
    const char *name;
    int bits;
} type_table[TORT_TYPE_COUNT] = {
    [TORT_UNDEFINED] = {"undefined", 0},
    [TORT_FLOAT] = {"float", 32},
    [TORT_UINT8] = {"uint8", 8},
    [TORT_INT8] = {"int8", 8},
    [TORT_UINT16] = {"uint16", 16},
    [TORT_INT16] = {"int16", 16},
    [TORT_INT32] = {"int32", 32},
    [TORT_INT64] = {"int64", 64},
    [TORT_STRING] = {"string", 8 * sizeof(tort_string)},
    [TORT_BOOL] = {"bool", 8},
    [TORT_FLOAT16] = {"float16", 16},
    [TORT_DOUBLE] = {"double", 64},
    [TORT_UINT32] = {"uint32", 32},
    [TORT_UINT64] = {"uint64", 64},
    [TORT_COMPLEX64] = {"complex64", 64},
    [TORT_COMPLEX128] = {"complex128", 128},
    [TORT_BFLOAT16] = {"bfloat16", 16},
    [TORT_FLOAT8E4M3FN] = {"float8e4m3fn", 8},
    [TORT_FLOAT8E4M3FNUZ] = {"float8e4m3fnuz", 8},
    [TORT_FLOAT8E5M2] = {"float8e5m2", 8},
    [TORT_FLOAT8E5M2FNUZ] = {"float8e5m2fnuz", 8},
    [TORT_UINT4] = {"uint4", 4},
    [TORT_INT4] = {"int4", 4},
    [TORT_FLOAT4E2M1] = {"float4e2m1", 4},
    [TORT_FLOAT8E8M0] = {"float8e8m0", 8},
    [TORT_UINT2] = {"uint2", 2},
    [TORT_INT2] = {"int2", 2},
    [TORT_FLOAT6E2M3] = {"float6e2m3", 6},
    [TORT_FLOAT6E3M2] = {"float6e3m2", 6},
};

static const char *const status_names[] = {
    [TORT_OK] = "TORT_OK",
    [TORT_E_INTERNAL] = "TORT_E_INTERNAL",
    [TORT_E_USAGE] = "TORT_E_USAGE",
    [TORT_E_MODEL] = "TORT_E_MODEL",
    [TORT_E_INPUT] = "TORT_E_INPUT",
    [TORT_E_PLACEMENT] = "TORT_E_PLACEMENT",
    [TORT_E_RUN] = "TORT_E_RUN",
    [TORT_E_MEMORY] = "TORT_E_MEMORY",
    [TORT_E_IO] = "TORT_E_IO",
    [TORT_E_DEVICE_LOST] = "TORT_E_DEVICE_LOST",
    [TORT_E_UNSUPPORTED] = "TORT_E_UNSUPPORTED",
    [TORT_E_CANCELLED] = "TORT_E_CANCELLED",
};

static const char *const verdict_names[TORT_VERDICT_COUNT] = {
    [TORT_YES] = "YES",
    [TORT_NO_OP] = "NO_OP",
    [TORT_NO_OPSET] = "NO_OPSET",
    [TORT_NO_TYPE] = "NO_TYPE",
    [TORT_NO_KIND] = "NO_KIND",
    [TORT_NO_ATTR] = "NO_ATTR",
    [TORT_NO_SHAPE] = "NO_SHAPE",
    [TORT_NO_DYNAMIC] = "NO_DYNAMIC",
    [TORT_NO_CAPABILITY] = "NO_CAPABILITY",
    [TORT_NO_LIBRARY] = "NO_LIBRARY",
    [TORT_NO_MEMORY] = "NO_MEMORY",
    [TORT_PROVIDER_DOWN] = "PROVIDER_DOWN",
    [TORT_DISABLED] = "DISABLED",
    [TORT_PINNED] = "PINNED",
    [TORT_UPSTREAM] = "UPSTREAM",
};

static bool is_type(tort_type type) {
    return (unsigned)type < TORT_TYPE_COUNT;
}

const char *tort_type_name(tort_type type) {
    return is_type(type) ? type_table[type].name : "unknown";
}

static bool same_word(const char *lower, const char *name, size_t length) {
    size_t i = 0;
    while (i < length && lower[i] && (name[i] == lower[i] || (lower[i] >= 'a' && name[i] == lower[i] - 'a' + 'A'))) i++;
    return i == length && !lower[i];
}

tort_type tort_type_named(const char *name, size_t length) {
    for (int type = TORT_FLOAT; type < TORT_TYPE_COUNT; type++)
        if (same_word(type_table[type].name, name, length)) return (tort_type)type;
    return TORT_UNDEFINED;
}

int tort_type_bits(tort_type type) {
    return is_type(type) ? type_table[type].bits : 0;
}

const char *tort_version(void) {
    return TORT_VERSION;
}

int32_t tort_interface(void) {
    return TORT_INTERFACE;
}

const char *tort_status_name(tort_status status) {
    return (unsigned)status < sizeof status_names / sizeof *status_names ? status_names[status] : "unknown";
}

const char *tort_verdict_name(tort_verdict_code code) {
    return (unsigned)code < TORT_VERDICT_COUNT ? verdict_names[code] : "unknown";
}

/* ---- types of values --------------------------------------------------------------------------------------------- */

/* A level of `nest` is a byte: the kind in the low 3 bits, the key type of a map above. The outermost level is the
 * lowest byte; 0, a tensor, ends the list. */
enum { LEVEL_BITS = 8, KIND_BITS = 3 };

static const tort_value_type too_deep = {.type = TORT_UNDEFINED, .nest = TORT_SPARSE};

tort_value_type tort_tensor_type(tort_type type) {
    return (tort_value_type){.type = type};
}

static tort_value_type around(tort_kind kind, tort_type key, tort_value_type element) {
    const uint32_t level = (uint32_t)kind | (uint32_t)key << KIND_BITS;
    if (element.nest >> LEVEL_BITS * (TORT_MAX_NESTING - 1) || !is_type(key)) return too_deep;
    if (tort_type_kind(element) == TORT_SPARSE) return too_deep;
    return (tort_value_type){.type = element.type, .nest = element.nest << LEVEL_BITS | level};
}

tort_value_type tort_sequence_type(tort_value_type element) {
    return around(TORT_SEQUENCE, TORT_UNDEFINED, element);
}

tort_value_type tort_optional_type(tort_value_type element) {
    return around(TORT_OPTIONAL, TORT_UNDEFINED, element);
}

tort_value_type tort_map_type(tort_type key, tort_value_type element) {
    return around(TORT_MAP, key, element);
}

tort_kind tort_type_kind(tort_value_type type) {
    return (tort_kind)(type.nest & ((1u << KIND_BITS) - 1));
}

tort_type tort_type_key(tort_value_type type) {
    return (tort_type)((type.nest & ((1u << LEVEL_BITS) - 1)) >> KIND_BITS);
}

tort_value_type tort_type_element(tort_value_type type) {
    return (tort_value_type){.type = type.type, .nest = type.nest >> LEVEL_BITS};
}

const char *tort_type_text(tort_value_type type, char *text, size_t size) {
    static const char *const opening[] = {"tensor(", "sparse_tensor(", "seq(", "optional(", "map("};
    const tort_kind kind = tort_type_kind(type);
    if (size == 0 || !text) return text;
    snprintf(text, size, "%s", (size_t)kind < sizeof opening / sizeof *opening ? opening[kind] : "unknown(");
    if (kind == TORT_MAP)
        snprintf(text + strlen(text), size - strlen(text), "%s,", tort_type_name(tort_type_key(type)));
    size_t used = strlen(text);
    if (kind == TORT_TENSOR || kind == TORT_SPARSE)
        snprintf(text + used, size - used, "%s", tort_type_name(type.type));
    else
        tort_type_text(tort_type_element(type), text + used, size - used);
    used = strlen(text);
    snprintf(text + used, size - used, ")");
    return text;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static double half_number(uint16_t half) {
    const int exponent = half >> 10 & 31, fraction = half & 1023;
    const double size = exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
                        : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                       : ldexp(fraction, -24);
    return half & 0x8000 ? -size : size;
}

bool tort_first_number(tort_type type, const void *data, double *number) {
    union {
        float single;
        double twice;
        int32_t word;
        int64_t integer;
        uint16_t half;
        int8_t small;
        uint8_t byte;
        uint32_t bits;
    } u = {.integer = 0};
    memcpy(&u, data, (size_t)tort_type_bits(type) / 8 <= sizeof u ? (size_t)tort_type_bits(type) / 8 : 0);
    const uint16_t half = u.half;
    if (type == TORT_BFLOAT16) u.bits = (uint32_t)half << 16;
    switch (type) {
    case TORT_INT8: *number = u.small; return true;
    case TORT_UINT8: *number = u.byte; return true;
    case TORT_FLOAT:
    case TORT_BFLOAT16: *number = (double)u.single; return true;
    case TORT_FLOAT16: *number = half_number(half); return true;
    case TORT_DOUBLE: *number = u.twice; return true;
    case TORT_INT32: *number = u.word; return true;
    case TORT_INT64: *number = (double)u.integer; return true;
    default: return false;
    }
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

/* Overflow is refused even if a later dim is 0, since strides are computed from the product. */
bool tort_tensor_count(const tort_tensor *tensor, int64_t *count) {
    if (!tensor || !count || tensor->rank < 0 || tensor->rank > TORT_MAX_RANK) return false;
    int64_t product = 1;
    bool empty = false;
    for (int32_t i = 0; i < tensor->rank; i++) {
        if (tensor->dims[i] < 0) return false;
        if (tensor->dims[i] == 0)
            empty = true;
        else if (__builtin_mul_overflow(product, tensor->dims[i], &product))
            return false;
    }
    *count = empty ? 0 : product;
    return true;
}

/* bits * count may overflow though the bytes do not, so groups of 8 elements are multiplied instead. */
bool tort_tensor_bytes(const tort_tensor *tensor, size_t *bytes) {
    int64_t count;
    if (!bytes || !tort_tensor_count(tensor, &count)) return false;
    size_t bits = (size_t)tort_type_bits(tensor->type), whole;
    size_t rest = ((size_t)count % 8 * bits + 7) / 8;
    return tort_mul_size((uint64_t)count / 8, bits, &whole) && tort_add_size(whole, rest, bytes);
}

int64_t tort_count(const tort_tensor *tensor) {
    int64_t count = 1;
    for (int32_t i = 0; i < tensor->rank; i++) count *= tensor->dims[i];
    return count;
}

bool tort_same_shape(const tort_tensor *a, const tort_tensor *b) {
    bool same = a->rank == b->rank;
    for (int32_t i = 0; same && i < a->rank; i++) same = a->dims[i] == b->dims[i];
    return same;
}

void tort_clear_tail(const tort_tensor *tensor) {
    const int bits = tort_type_bits(tensor->type);
    size_t bytes;
    if (bits == 0 || bits >= 8 || !tensor->data || !tort_tensor_bytes(tensor, &bytes) || !bytes) return;
    const unsigned used = (unsigned)(tort_count(tensor) % 8 * bits % 8);
    uint8_t *last = (uint8_t *)tensor->data + bytes - 1;
    if (used) *last = (uint8_t)(*last & ((1u << used) - 1));
}
