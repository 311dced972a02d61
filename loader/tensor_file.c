/* tensor_file.c - single tensors in files: the .pb side, and the choice by the path's ending. See npy.c for the
 * other side.
 *
 * A .pb goes the way of a model: slim copy, then its data read straight to where it belongs. Here sequences, optionals
 * and maps have their place when they come. */
#include "loader/tensor_file.h"

#include <errno.h>
#include <string.h>

#include "loader/loader.h"
#include "loader/npy.h"

/* ---- reading ---------------------------------------------------------------------------------------------------- */

/* Strings that are borrowed move behind the elements. */
static void own_strings(tort_string *strings, size_t count) {
    char *text = (char *)(strings + count);
    for (size_t i = 0; i < count; i++) {
        if (strings[i].length) memcpy(text, strings[i].data, strings[i].length);
        strings[i].data = text;
        text += strings[i].length;
    }
}

static size_t text_bytes(tort_message message) {
    size_t bytes = 0;
    for (tort_field field; tort_next_of(&message, TENSOR_STRING_DATA, &field);) bytes += field.length;
    return bytes;
}

static tort_status read_message(tort_loader *loader, tort_message message, tort_tensor *tensor) {
    tort_weight facts;
    tort_tensor_proto proto = tort_read_tensor(message);
    tort_status status = tort_tensor_facts(loader, &proto, &facts);
    if (status) return status;
    *tensor = (tort_tensor){.type = facts.type, .rank = facts.rank};
    memcpy(tensor->dims, facts.dims, sizeof tensor->dims);
    status = tort_tensor_file_alloc(loader->env, tensor, text_bytes(message), loader->error);
    if (status) return status;
    status = tort_tensor_contents(loader, &proto, &facts, tensor->data);
    if (status) tort_tensor_file_free(loader->env, tensor);
    if (!status && facts.type == TORT_STRING) own_strings(tensor->data, facts.bytes / sizeof(tort_string));
    return status;
}

static tort_status read_pb(const tort_env *env, const char *path, tort_tensor *tensor, tort_error *error) {
    tort_slim slim;
    tort_loader loader = {.env = env, .error = error};
    tort_status status = tort_source_open_file(env, path, NULL, &loader.source, error);
    if (status) return status;
    status = tort_wire_slim(env, loader.source, &tort_wire_tensor, &slim, error);
    if (!status) status = read_message(&loader, (tort_message){slim.bytes, slim.bytes + slim.size}, tensor);
    tort_slim_free(env, &slim);
    tort_source_close(loader.source);
    return status;
}

static tort_status read_npy(const tort_env *env, const char *path, tort_tensor *tensor, tort_error *error) {
    tort_source *source;
    tort_status status = tort_source_open_file(env, path, NULL, &source, error);
    if (status) return status;
    size_t size = (size_t)tort_source_size(source);
    void *bytes = tort_alloc(env, size);
    status = bytes ? tort_source_read(source, 0, 0, size, bytes, error) : tort_out_of_memory(error, size);
    if (!status) status = tort_tensor_npy_decode(env, bytes, size, tensor, error);
    tort_free(env, bytes, size);
    tort_source_close(source);
    return status;
}

static bool ends_with(const char *path, const char *ending) {
    size_t length = strlen(path), size = strlen(ending);
    return length >= size && strcmp(path + length - size, ending) == 0;
}

tort_status tort_tensor_file_read(const tort_env *env, const char *path, tort_tensor *tensor, tort_error *error) {
    tort_env complete = tort_env_complete(env);
    tort_status status;
    *tensor = (tort_tensor){0};
    if (ends_with(path, ".npy"))
        status = read_npy(&complete, path, tensor, error);
    else if (ends_with(path, ".pb"))
        status = read_pb(&complete, path, tensor, error);
    else
        status = tort_fail(error, TORT_E_USAGE, "the path must end in .npy or .pb");
    if (status == TORT_E_MODEL) status = TORT_E_INPUT;
    if (status && error) error->code = status;
    if (status) tort_error_prefix(error, "%.200s", path);
    return status;
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

/* A field of TensorProto: an integer, or the length of the bytes that follow. */
static bool put_field(FILE *file, uint32_t number, tort_wire_type wire_type, uint64_t value) {
    uint8_t bytes[20];
    size_t size = tort_encode_varint(number << 3 | (uint32_t)wire_type, bytes);
    size += tort_encode_varint(value, bytes + size);
    return fwrite(bytes, 1, size, file) == size;
}

static bool put_bytes(FILE *file, uint32_t number, const void *bytes, size_t size) {
    return put_field(file, number, TORT_WIRE_LENGTH, size) && (size == 0 || fwrite(bytes, 1, size, file) == size);
}

static bool write_pb(FILE *file, const char *name, const tort_tensor *tensor) {
    size_t bytes;
    bool ok = tort_tensor_bytes(tensor, &bytes);
    for (int32_t d = 0; ok && d < tensor->rank; d++)
        ok = put_field(file, TENSOR_DIMS, TORT_WIRE_VARINT, (uint64_t)tensor->dims[d]);
    if (ok) ok = put_field(file, TENSOR_DATA_TYPE, TORT_WIRE_VARINT, (uint64_t)tensor->type);
    if (ok && name && *name) ok = put_bytes(file, TENSOR_NAME, name, strlen(name));
    if (tensor->type != TORT_STRING) return ok && put_bytes(file, TENSOR_RAW_DATA, tensor->data, bytes);
    const tort_string *strings = tensor->data;
    for (size_t i = 0; ok && i < bytes / sizeof *strings; i++)
        ok = put_bytes(file, TENSOR_STRING_DATA, strings[i].data, strings[i].length);
    return ok;
}

tort_status tort_tensor_file_write(const char *path, const char *name, const tort_tensor *tensor, tort_error *error) {
    bool npy = ends_with(path, ".npy");
    if (!npy && !ends_with(path, ".pb"))
        return tort_fail(error, TORT_E_USAGE, "%.200s: the path must end in .npy or .pb", path);
    FILE *file = fopen(path, "wb");
    if (!file) return tort_fail(error, TORT_E_IO, "cannot write \"%.200s\": %s", path, strerror(errno));
    bool written = npy ? tort_npy_write(file, tensor) : write_pb(file, name, tensor);
    int cause = errno;
    if (fclose(file) != 0 && written) {
        written = false;
        cause = errno;
    }
    return written ? TORT_OK : tort_fail(error, TORT_E_IO, "cannot write \"%.200s\": %s", path, strerror(cause));
}
