/* tensors.c - TensorProto -> weight. If the bytes of a weight are contiguous in their file, only their location is
 * recorded, for tort_weight_acquire to read; strings, and data in several pieces, are decoded here. */
#include <stdlib.h>
#include <string.h>

#include "loader/loader.h"
#include "runtime/core/graph/varints.h"

/* Number of the field that holds the data, 0 if there is none; *note: the location that wire.c recorded. */
static uint32_t data_of(const TortOnnx__TensorProto *proto, tort_data_note *note) {
    *note = (tort_data_note){0};
    if (proto->data_case && proto->raw_data.len == sizeof *note) memcpy(note, proto->raw_data.data, sizeof *note);
    return proto->data_case;
}

static const char *field_name(uint32_t number) {
    return protobuf_c_message_descriptor_get_field(&tort_onnx__tensor_proto__descriptor, number)->name;
}

/* The typed field that ONNX defines for a type, as an alternative to raw_data. */
static uint32_t typed_field(tort_type type) {
    switch (type) {
    case TORT_FLOAT:
    case TORT_COMPLEX64: return TORT_ONNX__TENSOR_PROTO__DATA_FLOAT_DATA;
    case TORT_DOUBLE:
    case TORT_COMPLEX128: return TORT_ONNX__TENSOR_PROTO__DATA_DOUBLE_DATA;
    case TORT_INT64: return TORT_ONNX__TENSOR_PROTO__DATA_INT64_DATA;
    case TORT_UINT32:
    case TORT_UINT64: return TORT_ONNX__TENSOR_PROTO__DATA_UINT64_DATA;
    default: return TORT_ONNX__TENSOR_PROTO__DATA_INT32_DATA;
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
    if (!tort_tensor_bytes(&tensor, &weight->bytes) || weight->bytes > PTRDIFF_MAX)
        return tort_fail(loader->error, TORT_E_MODEL, "the product of its dimensions overflows");
    return TORT_OK;
}

/* ---- inline data ------------------------------------------------------------------------------------------------ */

static bool is_varints(uint32_t field) {
    return field == TORT_ONNX__TENSOR_PROTO__DATA_INT32_DATA || field == TORT_ONNX__TENSOR_PROTO__DATA_INT64_DATA ||
           field == TORT_ONNX__TENSOR_PROTO__DATA_UINT64_DATA;
}

static size_t element_count(const tort_weight *weight) {
    tort_tensor tensor = tensor_of(weight);
    int64_t count = 0;
    tort_tensor_count(&tensor, &count);
    return (size_t)count;
}

static tort_status check_length(tort_loader *loader, const tort_weight *weight, uint32_t field, uint64_t length) {
    if (is_varints(field)) {
        uint64_t count = tort_varint_count(weight->type, element_count(weight), weight->bytes);
        if (length >= count && (length + 9) / 10 <= count) return TORT_OK;
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
    tort_data_note note;
    const uint32_t field = data_of(proto, &note);
    if (field && field != TORT_ONNX__TENSOR_PROTO__DATA_RAW_DATA && field != typed_field(weight->type))
        return tort_fail(loader->error, TORT_E_MODEL, "%s data is in %s; it belongs into %s or raw_data",
                         tort_type_name(weight->type), field_name(field), field_name(typed_field(weight->type)));
    tort_status status = check_length(loader, weight, field, note.length);
    if (status) return status;
    weight->encoding = is_varints(field) ? TORT_ENCODING_VARINTS : TORT_ENCODING_RAW;
    weight->length = note.length;
    weight->offset = note.offset;
    return TORT_OK;
}

static bool is_external(const TortOnnx__TensorProto *proto) {
    return proto->data_location == TORT_ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
}

static tort_status string_data(tort_loader *loader, const TortOnnx__TensorProto *proto, const tort_weight *weight) {
    const size_t count = weight->bytes / sizeof(tort_string);
    if (is_external(proto)) return tort_fail(loader->error, TORT_E_MODEL, "strings cannot be external data");
    if (proto->n_string_data == count && !proto->data_case) return TORT_OK;
    return tort_fail(loader->error, TORT_E_MODEL, "string_data has %zu strings; the dimensions ask for %zu",
                     proto->n_string_data, count);
}

tort_status tort_tensor_facts(tort_loader *loader, const TortOnnx__TensorProto *proto, tort_weight *weight) {
    *weight = (tort_weight){0};
    tort_status status = load_shape(loader, proto, weight);
    if (status) return status;
    if (weight->type == TORT_STRING) return string_data(loader, proto, weight);
    if (proto->n_string_data)
        return tort_fail(loader->error, TORT_E_MODEL, "%s data is in string_data", tort_type_name(weight->type));
    if (is_external(proto)) return external_data(loader, proto, weight);
    return inline_data(loader, proto, weight);
}

/* ---- contents --------------------------------------------------------------------------------------------------- */

/* Copies a piece of data; check_length has checked that the pieces together fit. */
static tort_status copy_part(void *ud, const uint8_t *bytes, size_t size, tort_error *error) {
    (void)error;
    uint8_t **at = ud;
    memcpy(*at, bytes, size);
    *at += size;
    return TORT_OK;
}

static tort_status feed_part(void *ud, const uint8_t *bytes, size_t size, tort_error *error) {
    return tort_varints_feed(ud, bytes, size, error);
}

static tort_status varint_contents(tort_loader *loader, uint32_t field, const tort_data_note *note,
                                   const tort_weight *weight, void *data) {
    tort_varints varints;
    tort_varints_begin(&varints, weight->type, element_count(weight), weight->bytes, data);
    tort_status status = tort_wire_data(loader->env, loader->source, field, note, feed_part, &varints, loader->error);
    return status ? status : tort_varints_end(&varints, loader->error);
}

static void string_contents(const TortOnnx__TensorProto *proto, tort_string *strings) {
    for (size_t i = 0; i < proto->n_string_data; i++)
        strings[i] = (tort_string){(const char *)proto->string_data[i].data, proto->string_data[i].len};
}

tort_status tort_tensor_contents(tort_loader *loader, const TortOnnx__TensorProto *proto, const tort_weight *facts,
                                 void *data) {
    if (facts->type == TORT_STRING) {
        string_contents(proto, data);
        return TORT_OK;
    }
    if (facts->file > 0)
        return tort_source_read(loader->source, facts->file, facts->offset, facts->length, data, loader->error);
    tort_data_note note;
    const uint32_t field = data_of(proto, &note);
    if (facts->encoding == TORT_ENCODING_VARINTS) return varint_contents(loader, field, &note, facts, data);
    uint8_t *at = data;
    return tort_wire_data(loader->env, loader->source, field, &note, copy_part, &at, loader->error);
}

/* ---- weights ---------------------------------------------------------------------------------------------------- */

/* Copies the bytes of strings, which belong to the proto, into the model. */
static tort_status keep_strings(tort_loader *loader, tort_string *strings, size_t count) {
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) bytes += strings[i].length; /* parts of one file: cannot overflow */
    char *text = tort_arena_alloc(&loader->model->arena, bytes);
    if (!text) return tort_no_memory(loader);
    for (size_t i = 0; i < count; i++) {
        if (strings[i].length) memcpy(text, strings[i].data, strings[i].length);
        strings[i].data = text;
        text += strings[i].length;
    }
    return TORT_OK;
}

static tort_status add_decoded(tort_loader *loader, const TortOnnx__TensorProto *proto, const tort_weight *facts,
                               int32_t *weight) {
    tort_tensor tensor = tensor_of(facts);
    *weight = tort_model_add_weight_space(loader->model, &tensor);
    if (*weight < 0) return tort_no_memory(loader);
    tort_status status = tort_tensor_contents(loader, proto, facts, tensor.data);
    if (status || facts->type != TORT_STRING) return status;
    return keep_strings(loader, tensor.data, facts->bytes / sizeof(tort_string));
}

/* True if tort_weight_acquire can read the data later: one contiguous piece of a file. */
static bool can_stay_in_file(const TortOnnx__TensorProto *proto, const tort_weight *facts) {
    tort_data_note note;
    data_of(proto, &note);
    return facts->type != TORT_STRING && (facts->file > 0 || note.span == 0);
}

tort_status tort_load_tensor(tort_loader *loader, TortOnnx__TensorProto *proto, int32_t *weight) {
    *weight = proto->weight;
    if (proto->has_weight) return TORT_OK;
    tort_weight facts;
    tort_status status = tort_tensor_facts(loader, proto, &facts);
    if (status) return status;
    if (can_stay_in_file(proto, &facts)) {
        *weight = tort_model_add_weight(loader->model, &facts);
        if (*weight < 0) status = tort_no_memory(loader);
    } else {
        status = add_decoded(loader, proto, &facts, weight);
    }
    if (status) return status;
    proto->has_weight = true;
    proto->weight = *weight;
    return TORT_OK;
}
