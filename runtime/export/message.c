/* message.c - tensors as ONNX messages, and messages to files (message.h).
 *
 * The structs of a message borrow names and data, and protobuf-c writes them to the file piece by piece, so that no
 * large data is copied. */
#include "runtime/export/message.h"

#include <errno.h>

/* ---- a message to a file ----------------------------------------------------------------------------------------- */

typedef struct file_buffer {
    ProtobufCBuffer base;
    FILE *file;
    bool ok;
} file_buffer;

static void append(ProtobufCBuffer *base, size_t size, const uint8_t *bytes) {
    file_buffer *buffer = (file_buffer *)base;
    if (buffer->ok && size) buffer->ok = fwrite(bytes, 1, size, buffer->file) == size;
}

bool tort_pb_write_message(FILE *file, const ProtobufCMessage *message) {
    file_buffer buffer = {.base = {.append = append}, .file = file, .ok = true};
    errno = message ? EFBIG : ENOMEM;
    if (!message || protobuf_c_message_get_packed_size(message) > INT32_MAX) return false;
    protobuf_c_message_pack_to_buffer(message, &buffer.base);
    return buffer.ok;
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

ProtobufCBinaryData *tort_pb_make_strings(tort_arena *arena, const tort_string *strings, size_t count) {
    ProtobufCBinaryData *made = tort_arena_array(arena, count, sizeof *made);
    for (size_t i = 0; made && i < count; i++)
        made[i] = (ProtobufCBinaryData){strings[i].length, (uint8_t *)strings[i].data};
    return made;
}

TortOnnx__TensorProto *tort_pb_make_tensor(tort_arena *arena, const tort_tensor *tensor, const char *name) {
    TortOnnx__TensorProto *proto = tort_arena_alloc(arena, sizeof *proto);
    size_t bytes = 0;
    if (!proto || !tort_tensor_bytes(tensor, &bytes)) return NULL;
    tort_onnx__tensor_proto__init(proto);
    proto->n_dims = (size_t)tensor->rank;
    proto->dims = (int64_t *)tensor->dims;
    proto->data_type = (int32_t)tensor->type;
    proto->name = (char *)name;
    if (tensor->type == TORT_STRING) {
        proto->n_string_data = bytes / sizeof(tort_string);
        proto->string_data = tort_pb_make_strings(arena, tensor->data, proto->n_string_data);
        return proto->string_data ? proto : NULL;
    }
    proto->data_case = TORT_ONNX__TENSOR_PROTO__DATA_RAW_DATA;
    proto->raw_data = (ProtobufCBinaryData){bytes, tensor->data};
    return proto;
}
