/* tensors.c - TensorProto -> weight. A weight is noted where it is in its file wherever its bytes there are one
 * stretch that tort_weight_acquire can read; strings, and what is in several stretches, are decoded here. */
#include <stdlib.h>
#include <string.h>

#include "loader/loader.h"
#include "runtime/varints.h"

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

static size_t element_count(const tort_weight *weight) {
    tort_tensor tensor = tensor_of(weight);
    int64_t count = 0;
    tort_tensor_count(&tensor, &count);
    return (size_t)count;
}

static tort_status check_length(tort_loader *loader, const tort_weight *weight, int32_t field, uint64_t length) {
    if (is_varints(field)) {
        uint64_t count = tort_varint_count(weight->type, element_count(weight), weight->bytes);
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

static tort_status read_pieces(tort_loader *loader, const TortOnnx__TensorProto *proto, uint8_t *dst) {
    for (size_t i = 0; i < proto->n_piece; i++) {
        const TortOnnx__TensorProto__Piece *piece = proto->piece[i];
        tort_status status = tort_source_read(loader->source, 0, piece->offset, piece->length, dst, loader->error);
        if (status) return status;
        dst += piece->length;
    }
    return TORT_OK;
}

/* One piece after the other. */
static tort_status varint_contents(tort_loader *loader, const TortOnnx__TensorProto *proto, const tort_weight *weight,
                                   void *data) {
    tort_varints varints;
    tort_status status = TORT_OK;
    tort_varints_begin(&varints, weight->type, element_count(weight), weight->bytes, data);
    for (size_t i = 0; !status && i < proto->n_piece; i++) {
        size_t length = (size_t)proto->piece[i]->length;
        uint8_t *encoded = tort_alloc(loader->env, length);
        if (!encoded) return tort_out_of_memory(loader->error, length);
        status = tort_source_read(loader->source, 0, proto->piece[i]->offset, length, encoded, loader->error);
        if (!status) status = tort_varints_feed(&varints, encoded, length, loader->error);
        tort_free(loader->env, encoded, length);
    }
    return status ? status : tort_varints_end(&varints, loader->error);
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

/* Whether tort_weight_acquire can read it later: it must be one stretch of a file. */
static bool can_stay_in_file(const TortOnnx__TensorProto *proto, const tort_weight *facts) {
    if (facts->type == TORT_STRING) return false;
    return facts->file > 0 || facts->bytes == 0 || proto->n_piece == 1;
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
