/* wire.h - the pass before the parser: makes a slim copy of an untrusted file that is safe to parse.
 *
 * It reads the file through a small window and walks the descriptors that protoc-c generates from onnx.proto: every
 * length is checked against the enclosing message, every wire type against its field, text against UTF-8, depth and
 * counts against limits. Fields that onnx.proto does not have are skipped, and the data of tensors is replaced by its
 * location in the file. So the copy is never larger than a few times the graph, however large the weights are, and no
 * weight passes through the parser, which copies everything that it reads.
 *
 * Protobuf lets a field that is not a list occur several times in a message: of numbers and texts the last one counts,
 * also here, but messages are to be merged, piece by piece. No writer of models leaves such pieces, and merging them
 * lets a small file take much memory and time, so a second piece is refused, with its position. */
#ifndef TORT_LOADER_WIRE_H
#define TORT_LOADER_WIRE_H

#include <protobuf-c/protobuf-c.h>

#include "loader/source.h"

/* A message in protobuf's wire format. */
typedef struct tort_slim {
    uint8_t *bytes;
    size_t size, capacity;
} tort_slim;

/* Location of a tensor's data; replaces the bytes of its data field in the slim copy and then in the parsed tensor. */
typedef struct tort_data_note {
    uint64_t offset; /* of the data in the file; of the tag of the first piece if there are several */
    uint64_t length; /* bytes of data */
    uint64_t span;   /* if there are several pieces, from offset to the end of the last; otherwise 0 */
} tort_data_note;

enum { TORT_MAX_ATTRIBUTES = 1000 }; /* per node */

/* Makes the slim copy of file 0, which holds a message of kind `root`. *slim must be freed also after a failure. */
tort_status tort_wire_slim(const tort_env *env, const tort_source *source, const ProtobufCMessageDescriptor *root,
                           tort_slim *slim, tort_error *error);
void tort_slim_free(const tort_env *env, tort_slim *slim);

/* Receives the data of a tensor, a part at a time. */
typedef tort_status (*tort_data_sink)(void *ud, const uint8_t *bytes, size_t size, tort_error *error);

/* Reads the data of a tensor from field `number` of TensorProto in file 0, in one piece or several. */
tort_status tort_wire_data(const tort_env *env, const tort_source *source, uint32_t number, const tort_data_note *note,
                           tort_data_sink sink, void *ud, tort_error *error);

#endif
