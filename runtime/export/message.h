/* message.h - tensors as ONNX messages, and messages to files. Needs the header that protoc-c makes. */
#ifndef TORT_EXPORT_MESSAGE_H
#define TORT_EXPORT_MESSAGE_H

#include <stdio.h>

#include "loader/loader.h"

/* Strings as protobuf-c's structs, which borrow their bytes; NULL: out of memory. */
ProtobufCBinaryData *tort_pb_make_strings(tort_arena *arena, const tort_string *strings, size_t count);
/* The message of a tensor, which borrows its data and the name; NULL: out of memory. */
TortOnnx__TensorProto *tort_pb_make_tensor(tort_arena *arena, const tort_tensor *tensor, const char *name);
/* Writes a message; false with EFBIG if it is larger than 2 GiB, as lengths in a message have 31 bits. message NULL:
 * out of memory. */
bool tort_pb_write_message(FILE *file, const ProtobufCMessage *message);

#endif
