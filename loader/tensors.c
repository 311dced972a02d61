/* tensors.c - TensorProto -> weight. A weight is noted where it is in its file wherever its bytes there are one
 * stretch that tort_weight_acquire can read; strings, and what is in several stretches, are decoded here. */
#include <stdlib.h>
#include <string.h>

#include "loader/loader.h"

/* The data fields of TensorProto, by their numbers. */
enum { FLOAT_DATA = 4, INT32_DATA = 5, INT64_DATA = 7, RAW_DATA = 9, DOUBLE_DATA = 10, UINT64_DATA = 11 };
/* Its data_location. */
enum { EXTERNAL = 1 };

static const char *field_name(int32_t field) {
    switch (field) {
    case FLOAT_DATA: return "float_data";
    case INT32_DATA: return "int32_data";
    case INT64_DATA: return "int64_data";
    case DOUBLE_DATA: return "double_data";
    case UINT64_DATA: return "uint64_data";
    default: return "raw_data";
    }
}

/* The typed field that ONNX has for a type, beside raw_data. */
static int32_t typed_field(tort_type type) {
    switch (type) {
    case TORT_FLOAT:
    case TORT_COMPLEX64: return FLOAT_DATA;
    case TORT_DOUBLE:
    case TORT_COMPLEX128: return DOUBLE_DATA;
    case TORT_INT64: return INT64_DATA;
    case TORT_UINT32:
    case TORT_UINT64: return UINT64_DATA;
    default: return INT32_DATA;
    }
}

static bool is_float6(tort_type type) {
    return type == TORT_FLOAT6E2M3 || type == TORT_FLOAT6E3M2;
}

static tort_tensor tensor_of(const tort_weight *weight) {
    tort_tensor tensor = {.type = weight->type, .rank = weight->rank};
    memcpy(tensor.dims, weight->dims, sizeof tensor.dims);
    return tensor;
}

static tort_status load_shape(tort_loader *loader, const TortOnnx__TensorProto *proto, tort_weight *weight) {
    if (proto->data_type <= TORT_UNDEFINED || proto->data_type >= TORT_TYPE_COUNT)
        return tort_fail(loader->error, TORT_E_MODEL, "data_type %d is not one of ONNX's (1 to %d)", proto->data_type,
                         TORT_TYPE_COUNT - 1);
    weight->type = (tort_type)proto->data_type;
    tort_status status = tort_load_dims(loader, proto->dims, proto->n_dims, &weight->rank, weight->dims);
    if (status) return status;
    if (proto->segment) return tort_fail(loader->error, TORT_E_UNSUPPORTED, "a tensor stored in segments");
    tort_tensor tensor = tensor_of(weight);
    if (!tort_tensor_bytes(&tensor, &weight->bytes) || weight->bytes > INT64_MAX)
        return tort_fail(loader->error, TORT_E_MODEL, "the product of its dimensions overflows");
    return TORT_OK;
}

/* ---- inline data ------------------------------------------------------------------------------------------------ */

/* The one field that holds the data (0: none) and the bytes there. */
static tort_status data_field(tort_loader *loader, const TortOnnx__TensorProto *proto, const tort_weight *weight,
                              int32_t *field, uint64_t *length) {
    *field = 0;
    *length = 0;
    for (size_t i = 0; i < proto->n_piece; i++) {
        const TortOnnx__TensorProto__Piece *piece = proto->piece[i];
        if (*field && piece->field != *field)
            return tort_fail(loader->error, TORT_E_MODEL, "its data is in %s and in %s", field_name(*field),
                             field_name(piece->field));
        *field = piece->field;
        if (__builtin_add_overflow(*length, piece->length, length))
            return tort_fail(loader->error, TORT_E_MODEL, "its data overflows");
    }
    if (!*field || *field == RAW_DATA || *field == typed_field(weight->type)) return TORT_OK;
    return tort_fail(loader->error, TORT_E_MODEL, "%s data is in %s; it belongs into %s or raw_data",
                     tort_type_name(weight->type), field_name(*field), field_name(typed_field(weight->type)));
}

static bool is_varints(int32_t field) {
    return field == INT32_DATA || field == INT64_DATA || field == UINT64_DATA;
}

/* How many varints a tensor takes: one an element, or one a byte where bytes hold several elements. */
static uint64_t varint_count(const tort_weight *weight) {
    tort_tensor tensor = tensor_of(weight);
    int64_t count = 0;
    int bits = tort_type_bits(weight->type);
    if (bits < 8 && !is_float6(weight->type)) return weight->bytes;
    tort_tensor_count(&tensor, &count);
    return (uint64_t)count;
}

static tort_status check_length(tort_loader *loader, const tort_weight *weight, int32_t field, uint64_t length) {
    if (is_varints(field)) {
        uint64_t count = varint_count(weight);
        if (length >= count && length / 10 <= count) return TORT_OK;
        return tort_fail(loader->error, TORT_E_MODEL, "%s has %llu bytes, which cannot be %llu numbers",
                         field_name(field), (unsigned long long)length, (unsigned long long)count);
    }
    if (length == weight->bytes) return TORT_OK;
    if (!field)
        return tort_fail(loader->error, TORT_E_MODEL, "it has no data; its type and dimensions ask for %zu bytes",
                         weight->bytes);
    return tort_fail(loader->error, TORT_E_MODEL, "%s has %llu bytes; its type and dimensions ask for %zu",
                     field_name(field), (unsigned long long)length, weight->bytes);
}

/* ---- external data ---------------------------------------------------------------------------------------------- */

static tort_status parse_size(tort_loader *loader, const char *key, const char *text, uint64_t *size) {
    *size = 0;
    for (const char *at = text; *at; at++) {
        if (*at < '0' || *at > '9' || __builtin_mul_overflow(*size, 10, size) ||
            __builtin_add_overflow(*size, (uint64_t)(*at - '0'), size))
            return tort_fail(loader->error, TORT_E_MODEL, "external_data: %s is \"%.40s\"", key, text);
    }
    if (!*text) return tort_fail(loader->error, TORT_E_MODEL, "external_data: %s is empty", key);
    return TORT_OK;
}

static tort_status external_data(tort_loader *loader, const TortOnnx__TensorProto *proto, tort_weight *weight) {
    const char *location = NULL;
    weight->length = weight->bytes;
    for (size_t i = 0; i < proto->n_external_data; i++) {
        const char *key = tort_text_of(proto->external_data[i]->key);
        const char *value = tort_text_of(proto->external_data[i]->value);
        tort_status status = TORT_OK;
        if (strcmp(key, "location") == 0)
            location = value;
        else if (strcmp(key, "offset") == 0)
            status = parse_size(loader, key, value, &weight->offset);
        else if (strcmp(key, "length") == 0)
            status = parse_size(loader, key, value, &weight->length);
        if (status) return status;
    }
    if (!location) return tort_fail(loader->error, TORT_E_MODEL, "external_data: there is no location");
    if (weight->length != weight->bytes)
        return tort_fail(loader->error, TORT_E_MODEL,
                         "external_data: length is %llu; the type and the dimensions ask for %zu bytes",
                         (unsigned long long)weight->length, weight->bytes);
    weight->encoding = TORT_ENCODING_RAW;
    return tort_source_external(loader->source, location, weight->offset, weight->length, &weight->file, loader->error);
}

/* ---- facts ------------------------------------------------------------------------------------------------------ */

static tort_status inline_data(tort_loader *loader, const TortOnnx__TensorProto *proto, tort_weight *weight) {
    int32_t field;
    uint64_t length;
    tort_status status = data_field(loader, proto, weight, &field, &length);
    if (!status) status = check_length(loader, weight, field, length);
    if (status) return status;
    weight->encoding = is_varints(field) ? TORT_ENCODING_VARINTS : TORT_ENCODING_RAW;
    weight->length = length;
    if (proto->n_piece > 0) weight->offset = proto->piece[0]->offset;
    return TORT_OK;
}

static tort_status string_data(tort_loader *loader, const TortOnnx__TensorProto *proto, const tort_weight *weight) {
    size_t count = weight->bytes / sizeof(tort_string);
    if (proto->data_location == EXTERNAL)
        return tort_fail(loader->error, TORT_E_MODEL, "strings cannot be external data");
    if (proto->n_string_data == count && proto->n_piece == 0) return TORT_OK;
    return tort_fail(loader->error, TORT_E_MODEL, "string_data has %zu strings; the dimensions ask for %zu",
                     proto->n_string_data, count);
}

tort_status tort_tensor_facts(tort_loader *loader, const TortOnnx__TensorProto *proto, tort_weight *weight) {
    *weight = (tort_weight){0};
    tort_status status = load_shape(loader, proto, weight);
    if (status) return status;
    if (weight->type == TORT_STRING) return string_data(loader, proto, weight);
    if (proto->data_location == EXTERNAL) return external_data(loader, proto, weight);
    return inline_data(loader, proto, weight);
}

/* ---- contents --------------------------------------------------------------------------------------------------- */

/* Elements 6 bits wide, one after the other from the lowest bit of the first byte. `data` was zeroed. */
static void store_six_bits(uint8_t *data, size_t index, uint64_t value) {
    for (unsigned b = 0; b < 6; b++) {
        size_t at = index * 6 + b;
        if (value >> b & 1) data[at / 8] = (uint8_t)(data[at / 8] | 1u << at % 8);
    }
}

static tort_status decode_varints(tort_loader *loader, const tort_weight *weight, const uint8_t *bytes, size_t length,
                                  uint8_t *data) {
    size_t count = (size_t)varint_count(weight), at = 0;
    size_t size = count ? weight->bytes / count : 0;
    bool float6 = is_float6(weight->type);
    memset(data, 0, weight->bytes);
    for (size_t i = 0; i < count; i++) {
        uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            if (at >= length || shift > 63)
                return tort_fail(loader->error, TORT_E_MODEL, "its data ends after %zu of %zu numbers", i, count);
            value |= (uint64_t)(bytes[at] & 0x7f) << shift;
            if (!(bytes[at++] & 0x80)) break;
        }
        if (float6)
            store_six_bits(data, i, value);
        else
            memcpy(data + i * size, &value, size); /* little-endian: the low bytes */
    }
    if (at != length) return tort_fail(loader->error, TORT_E_MODEL, "its data is more than %zu numbers", count);
    return TORT_OK;
}

static tort_status read_pieces(tort_loader *loader, const TortOnnx__TensorProto *proto, uint8_t *dst) {
    for (size_t i = 0; i < proto->n_piece; i++) {
        const TortOnnx__TensorProto__Piece *piece = proto->piece[i];
        tort_status status = tort_source_read(loader->source, 0, piece->offset, piece->length, dst, loader->error);
        if (status) return status;
        dst += piece->length;
    }
    return TORT_OK;
}

static tort_status varint_contents(tort_loader *loader, const TortOnnx__TensorProto *proto, const tort_weight *weight,
                                   void *data) {
    size_t length = (size_t)weight->length;
    uint8_t *encoded = tort_alloc(loader->env, length);
    if (!encoded) return tort_out_of_memory(loader->error, length);
    tort_status status = read_pieces(loader, proto, encoded);
    if (!status) status = decode_varints(loader, weight, encoded, length, data);
    tort_free(loader->env, encoded, length);
    return status;
}

static void string_contents(const TortOnnx__TensorProto *proto, tort_string *strings) {
    for (size_t i = 0; i < proto->n_string_data; i++) {
        const ProtobufCBinaryData *bytes = &proto->string_data[i];
        strings[i] = (tort_string){bytes->len ? (const char *)bytes->data : "", bytes->len};
    }
}

tort_status tort_tensor_contents(tort_loader *loader, const TortOnnx__TensorProto *proto, const tort_weight *facts,
                                 void *data) {
    if (facts->type == TORT_STRING) {
        string_contents(proto, data);
        return TORT_OK;
    }
    if (facts->encoding == TORT_ENCODING_VARINTS) return varint_contents(loader, proto, facts, data);
    if (facts->file == 0) return read_pieces(loader, proto, data);
    return tort_source_read(loader->source, facts->file, facts->offset, facts->length, data, loader->error);
}

/* ---- weights ---------------------------------------------------------------------------------------------------- */

/* The bytes of strings move into the model, which outlives the proto. */
static tort_status keep_strings(tort_loader *loader, tort_string *strings, size_t count) {
    for (size_t i = 0; i < count; i++) {
        strings[i].data = tort_arena_text(&loader->model->arena, strings[i].data, strings[i].length);
        if (!strings[i].data) return tort_no_memory(loader);
    }
    return TORT_OK;
}

static tort_status add_decoded(tort_loader *loader, const TortOnnx__TensorProto *proto, const tort_weight *facts,
                               int32_t *weight) {
    tort_tensor tensor = tensor_of(facts);
    tensor.data = tort_alloc(loader->env, facts->bytes);
    if (!tensor.data) return tort_out_of_memory(loader->error, facts->bytes);
    tort_status status = tort_tensor_contents(loader, proto, facts, tensor.data);
    if (!status && facts->type == TORT_STRING)
        status = keep_strings(loader, tensor.data, facts->bytes / sizeof(tort_string));
    if (!status) {
        *weight = tort_model_add_weight_data(loader->model, &tensor);
        if (*weight < 0) status = tort_no_memory(loader);
    }
    tort_free(loader->env, tensor.data, facts->bytes);
    return status;
}

/* Whether tort_weight_acquire can read it later: one stretch of a file, in an encoding it knows. */
static bool can_stay_in_file(const TortOnnx__TensorProto *proto, const tort_weight *facts) {
    if (facts->type == TORT_STRING) return false;
    if (facts->file > 0 || facts->bytes == 0) return true;
    return proto->n_piece == 1 && !(facts->encoding == TORT_ENCODING_VARINTS && is_float6(facts->type));
}

tort_status tort_load_tensor(tort_loader *loader, TortOnnx__TensorProto *proto, int32_t *weight) {
    if (proto->has_weight) {
        *weight = proto->weight;
        return TORT_OK;
    }
    tort_weight facts;
    tort_status status = tort_tensor_facts(loader, proto, &facts);
    if (status) return status;
    if (can_stay_in_file(proto, &facts)) {
        *weight = tort_model_add_weight(loader->model, &facts);
        if (*weight < 0) return tort_no_memory(loader);
    } else {
        status = add_decoded(loader, proto, &facts, weight);
        if (status) return status;
    }
    proto->has_weight = true;
    proto->weight = *weight;
    return TORT_OK;
}
