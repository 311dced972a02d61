/* pb_write.c - writes tensors and other values as ONNX's messages.
 *
 * The length of a message stands before it, so that a message within another is written twice: once to count its bytes,
 * without a file. */
#include <string.h>

#include "loader/pb_file.h"
#include "runtime/graph/value.h"

typedef struct pb_writer {
    FILE *file; /* NULL: only count */
    uint64_t size;
    bool ok;
} pb_writer;

static void put(pb_writer *w, const void *bytes, size_t size) {
    w->size += size;
    if (w->ok && w->file && size) w->ok = fwrite(bytes, 1, size, w->file) == size;
}

/* An integer, or the length of the bytes that follow. */
static void put_field(pb_writer *w, uint32_t number, tort_wire_type wire_type, uint64_t value) {
    uint8_t bytes[20];
    size_t size = tort_encode_varint(number << 3 | (uint32_t)wire_type, bytes);
    size += tort_encode_varint(value, bytes + size);
    put(w, bytes, size);
}

static void put_bytes(pb_writer *w, uint32_t number, const void *bytes, size_t size) {
    put_field(w, number, TORT_WIRE_LENGTH, size);
    put(w, bytes, size);
}

static void put_name(pb_writer *w, uint32_t number, const char *name) {
    if (name && *name) put_bytes(w, number, name, strlen(name));
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

static void put_strings(pb_writer *w, uint32_t number, const tort_string *strings, size_t count) {
    for (size_t i = 0; i < count; i++) put_bytes(w, number, strings[i].data, strings[i].length);
}

static void put_tensor(pb_writer *w, const tort_tensor *tensor, const char *name) {
    size_t bytes = 0;
    w->ok = w->ok && tort_tensor_bytes(tensor, &bytes);
    for (int32_t d = 0; d < tensor->rank; d++) put_field(w, TENSOR_DIMS, TORT_WIRE_VARINT, (uint64_t)tensor->dims[d]);
    put_field(w, TENSOR_DATA_TYPE, TORT_WIRE_VARINT, (uint64_t)tensor->type);
    put_name(w, TENSOR_NAME, name);
    if (tensor->type == TORT_STRING)
        put_strings(w, TENSOR_STRING_DATA, tensor->data, bytes / sizeof(tort_string));
    else
        put_bytes(w, TENSOR_RAW_DATA, tensor->data, bytes);
}

bool tort_pb_write_tensor(FILE *file, const tort_tensor *tensor, const char *name) {
    pb_writer w = {.file = file, .ok = true};
    put_tensor(&w, tensor, name);
    return w.ok;
}

/* ---- what is no tensor ------------------------------------------------------------------------------------------- */

static void put_value(pb_writer *w, const tort_value *value, const char *name);

/* A value as field `number` of what is being written. */
static void put_inner(pb_writer *w, uint32_t number, const tort_value *value) {
    pb_writer count = {.ok = true};
    put_value(&count, value, NULL);
    put_field(w, number, TORT_WIRE_LENGTH, count.size);
    put_value(w, value, NULL);
}

/* The elements of a sequence or map, or that of an optional. */
static void put_elements(pb_writer *w, const tort_value *value) {
    const tort_kind kind = tort_type_kind(tort_type_element(tort_value_type_of(value)));
    const tort_container_facts facts = tort_container_of(kind);
    put_field(w, CONTAINER_ELEM_TYPE, TORT_WIRE_VARINT, (uint64_t)facts.number);
    for (int32_t i = 0; i < tort_value_count(value); i++) put_inner(w, facts.field, tort_value_at(value, i));
}

static void put_map(pb_writer *w, const tort_value *map) {
    const tort_tensor *keys = tort_value_keys(map);
    const size_t key_count = (size_t)tort_value_count(map);
    put_field(w, MAP_VALUE_KEY_TYPE, TORT_WIRE_VARINT, (uint64_t)keys->type);
    if (keys->type == TORT_STRING) put_strings(w, MAP_VALUE_STRING_KEYS, keys->data, key_count);
    for (size_t i = 0; keys->type == TORT_INT64 && i < key_count; i++)
        put_field(w, MAP_VALUE_KEYS, TORT_WIRE_VARINT, (uint64_t)((const int64_t *)keys->data)[i]);
    pb_writer count = {.ok = true};
    put_elements(&count, map);
    put_field(w, MAP_VALUE_VALUES, TORT_WIRE_LENGTH, count.size);
    put_elements(w, map);
}

static void put_value(pb_writer *w, const tort_value *value, const char *name) {
    if (tort_value_kind(value) == TORT_TENSOR) {
        put_tensor(w, tort_value_view(value), name);
        return;
    }
    put_name(w, VALUE_NAME, name);
    if (tort_value_kind(value) == TORT_MAP)
        put_map(w, value);
    else
        put_elements(w, value);
}

bool tort_pb_write_value(FILE *file, const tort_value *value, const char *name) {
    pb_writer w = {.file = file, .ok = true};
    put_value(&w, value, name);
    return w.ok;
}
