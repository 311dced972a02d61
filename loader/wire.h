/* wire.h - the pass before the parser: a file, of which not one byte is trusted, becomes a slim copy that is safe to
 * parse.
 *
 * It reads the file through a small window and walks the descriptors that protoc-c generates from onnx.proto: every
 * length is checked against what encloses it, every wire type against its field, text against UTF-8, depth and counts
 * against limits. Fields that onnx.proto does not have are skipped, and the data of tensors is replaced by a note of
 * where it is in the file. So the copy is never larger than a few times the graph, whatever the weights weigh, and no
 * weight passes through the parser, which copies all that it is given.
 *
 * Protobuf lets a field that is no list stand in a message several times: the last number or text counts, and so it is
 * here, but messages are to be merged, piece by piece. No writer of models leaves such pieces, and merging them is how
 * a small file takes much memory and time; so a second piece is refused, with its byte. */
#ifndef TORT_LOADER_WIRE_H
#define TORT_LOADER_WIRE_H

#include <protobuf-c/protobuf-c.h>

#include "loader/source.h"

/* A message in protobuf's wire format. */
typedef struct tort_slim {
    uint8_t *bytes;
    size_t size, capacity;
} tort_slim;

/* Stands in the slim copy, and then in the parsed tensor, in place of the bytes of its data field. */
typedef struct tort_data_note {
    uint64_t offset; /* of the data's bytes in the file, or where they are scattered, of the tag of the first */
    uint64_t length; /* of the bytes */
    uint64_t
        span; /* from offset to behind the last byte where they are scattered among other fields; 0: they are not */
} tort_data_note;

enum { TORT_MAX_ATTRIBUTES = 1000 }; /* of a node */

/* Makes the slim copy of file 0, which holds a message of kind `root`. *slim is to be freed also on failure. */
tort_status tort_wire_slim(const tort_env *env, const tort_source *source, const ProtobufCMessageDescriptor *root,
                           tort_slim *slim, tort_error *error);
void tort_slim_free(const tort_env *env, tort_slim *slim);

/* Takes the data of a tensor, a part at a time. */
typedef tort_status (*tort_data_sink)(void *ud, const uint8_t *bytes, size_t size, tort_error *error);

/* Reads the data of a tensor, in field `number` of TensorProto, that file 0 holds in one stretch or in several. */
tort_status tort_wire_data(const tort_env *env, const tort_source *source, uint32_t number, const tort_data_note *note,
                           tort_data_sink sink, void *ud, tort_error *error);

#endif
