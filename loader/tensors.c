/* tensors.c - TensorProto -> weight. A weight is noted where it is in its file wherever its bytes there are one
 * stretch that tort_weight_acquire can read; strings, and what is in several stretches, are decoded here. */
#include <stdlib.h>
#include <string.h>

#include "loader/loader.h"
#include "runtime/base/varints.h"

enum { EXTERNAL = 1 }; /* of data_location */

tort_tensor_proto tort_read_tensor(tort_message message) {
    tort_tensor_proto proto = {.message = message, .name = ""};
    for (tort_field field; tort_next_field(&message, &field);) {
        switch (field.number) {
        case TENSOR_NAME: proto.name = field.text; break;
        case TENSOR_DATA_TYPE: proto.data_type = (int32_t)field.integer; break;
        case TENSOR_DATA_LOCATION: proto.external = (int32_t)field.integer == EXTERNAL; break;
        case TENSOR_SEGMENT: proto.segmented = true; break;
        case TORT_SLIM_DATA: proto.data = tort_read_data(&field); break;
        case TORT_SLIM_NOTE: proto.note = field.four; break;
        default: break;
        }
    }
    return proto;
}

void tort_note_weight(uint8_t *note, int32_t weight) {
    weight++;
    memcpy(note, &weight, sizeof weight);
}

int32_t tort_noted_weight(const uint8_t *note) {
    int32_t weight;
    memcpy(&weight, note, sizeof weight);
    return weight - 1;
}

static const char *field_name(uint32_t field) {
    switch (field) {
    case TENSOR_FLOAT_DATA: return "float_data";
    case TENSOR_INT32_DATA: return "int32_data";
    case TENSOR_INT64_DATA: return "int64_data";
    case TENSOR_DOUBLE_DATA: return "double_data";
    case TENSOR_UINT64_DATA: return "uint64_data";
    default: return "raw_data";
    }
}

/* The typed field that ONNX has for a type, beside raw_data. */
static uint32_t typed_field(tort_type type) {
    switch (type) {
    case TORT_FLOAT:
    case TORT_COMPLEX64: return TENSOR_FLOAT_DATA;
    case TORT_DOUBLE:
    case TORT_COMPLEX128: return TENSOR_DOUBLE_DATA;
    case TORT_INT64: return TENSOR_INT64_DATA;
    case TORT_UINT32:
    case TORT_UINT64: return TENSOR_UINT64_DATA;
    default: return TENSOR_INT32_DATA;
    }
}

static tort_tensor tensor_of(const tort_weight *weight) {
    tort_tensor tensor = {.type = weight->type, .rank = weight->rank};
    memcpy(tensor.dims, weight->dims, sizeof tensor.dims);
    return tensor;
}

static tort_status load_shape(tort_loader *loader, const tort_tensor_proto *proto, tort_weight *weight) {
    if (proto->data_type <= TORT_UNDEFINED || proto->data_type >= TORT_TYPE_COUNT)
        return tort_fail(loader->error, TORT_E_MODEL, "data_type %d is not one of ONNX's (1 to %d)", proto->data_type,
                         TORT_TYPE_COUNT - 1);
    weight->type = (tort_type)proto->data_type;
    tort_status status = tort_load_dims(loader, proto->message, TENSOR_DIMS, &weight->rank, weight->dims);
    if (status) return status;
    if (proto->segmented) return tort_fail(loader->error, TORT_E_UNSUPPORTED, "a tensor stored in segments");
    tort_tensor tensor = tensor_of(weight);
    if (!tort_tensor_bytes(&tensor, &weight->bytes) || weight->bytes > INT64_MAX)
        return tort_fail(loader->error, TORT_E_MODEL, "the product of its dimensions overflows");
    return TORT_OK;
}

/* ---- inline data ------------------------------------------------------------------------------------------------ */

static bool is_varints(uint32_t field) {
    return field == TENSOR_INT32_DATA || field == TENSOR_INT64_DATA || field == TENSOR_UINT64_DATA;
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

static tort_status external_data(tort_loader *loader, const tort_tensor_proto *proto, tort_weight *weight) {
    const char *location = NULL;
    tort_message rest = proto->message;
    weight->length = weight->bytes;
    for (tort_field field; tort_next_of(&rest, TENSOR_EXTERNAL_DATA, &field);) {
        const char *key = tort_text_in(field.message, PROPERTY_KEY);
        const char *value = tort_text_in(field.message, PROPERTY_VALUE);
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

static tort_status inline_data(tort_loader *loader, const tort_tensor_proto *proto, tort_weight *weight) {
    const tort_data *data = &proto->data;
    if (data->field && data->field != TENSOR_RAW_DATA && data->field != typed_field(weight->type))
        return tort_fail(loader->error, TORT_E_MODEL, "%s data is in %s; it belongs into %s or raw_data",
                         tort_type_name(weight->type), field_name(data->field), field_name(typed_field(weight->type)));
    tort_status status = check_length(loader, weight, data->field, data->length);
    if (status) return status;
    weight->encoding = is_varints(data->field) ? TORT_ENCODING_VARINTS : TORT_ENCODING_RAW;
    weight->length = data->length;
    weight->offset = data->offset;
    return TORT_OK;
}

static tort_status string_data(tort_loader *loader, const tort_tensor_proto *proto, const tort_weight *weight) {
    size_t count = weight->bytes / sizeof(tort_string),
           given = (size_t)tort_count_of(proto->message, TENSOR_STRING_DATA);
    if (proto->external) return tort_fail(loader->error, TORT_E_MODEL, "strings cannot be external data");
    if (given == count && !proto->data.field) return TORT_OK;
    return tort_fail(loader->error, TORT_E_MODEL, "string_data has %zu strings; the dimensions ask for %zu", given,
                     count);
}

tort_status tort_tensor_facts(tort_loader *loader, const tort_tensor_proto *proto, tort_weight *weight) {
    *weight = (tort_weight){0};
    tort_status status = load_shape(loader, proto, weight);
    if (status) return status;
    if (weight->type == TORT_STRING) return string_data(loader, proto, weight);
    if (proto->external) return external_data(loader, proto, weight);
    return inline_data(loader, proto, weight);
}

/* ---- contents --------------------------------------------------------------------------------------------------- */

/* check_length has held the bytes to come against what `at` has room for. */
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

static tort_status varint_contents(tort_loader *loader, const tort_tensor_proto *proto, const tort_weight *weight,
                                   void *data) {
    tort_varints varints;
    tort_varints_begin(&varints, weight->type, element_count(weight), weight->bytes, data);
    tort_status status = tort_wire_data(loader->env, loader->source, &proto->data, feed_part, &varints, loader->error);
    return status ? status : tort_varints_end(&varints, loader->error);
}

static void string_contents(const tort_tensor_proto *proto, tort_string *strings) {
    tort_message rest = proto->message;
    tort_field field;
    for (size_t i = 0; tort_next_of(&rest, TENSOR_STRING_DATA, &field); i++)
        strings[i] = (tort_string){field.text, field.length};
}

tort_status tort_tensor_contents(tort_loader *loader, const tort_tensor_proto *proto, const tort_weight *facts,
                                 void *data) {
    if (facts->type == TORT_STRING) {
        string_contents(proto, data);
        return TORT_OK;
    }
    if (facts->file > 0)
        return tort_source_read(loader->source, facts->file, facts->offset, facts->length, data, loader->error);
    if (facts->encoding == TORT_ENCODING_VARINTS) return varint_contents(loader, proto, facts, data);
    uint8_t *at = data;
    return tort_wire_data(loader->env, loader->source, &proto->data, copy_part, &at, loader->error);
}

/* ---- weights ---------------------------------------------------------------------------------------------------- */

static tort_status add_decoded(tort_loader *loader, const tort_tensor_proto *proto, const tort_weight *facts,
                               int32_t *weight) {
    tort_tensor tensor = tensor_of(facts);
    *weight = tort_model_add_weight_space(loader->model, &tensor);
    if (*weight < 0) return tort_no_memory(loader);
    return tort_tensor_contents(loader, proto, facts, tensor.data);
}

/* Whether tort_weight_acquire can read it later: it must be one stretch of a file. */
static bool can_stay_in_file(const tort_tensor_proto *proto, const tort_weight *facts) {
    return facts->type != TORT_STRING && (facts->file > 0 || proto->data.span == 0);
}

tort_status tort_load_tensor(tort_loader *loader, const tort_tensor_proto *proto, int32_t *weight) {
    *weight = tort_noted_weight(proto->note);
    if (*weight >= 0) return TORT_OK;
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
    tort_note_weight(proto->note, *weight);
    return TORT_OK;
}
