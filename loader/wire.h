/* wire.h - the pass over the wire format that stands between a file and the generated protobuf parser.
 *
 * The parser copies every bytes field and recurses without a limit, so it never sees a file as it is. This pass reads
 * the file through a small window, checks every length against what encloses it and the depth against a limit, and
 * writes a slim copy: the fields of onnx.proto alone, with the data of tensors replaced by where it is in the file.
 * So the memory it takes is that of the graph, whatever the weights weigh. */
#ifndef TORT_LOADER_WIRE_H
#define TORT_LOADER_WIRE_H

#include "loader/source.h"

typedef struct tort_wire_message tort_wire_message; /* what a message is made of: a table of wire.c */

extern const tort_wire_message tort_wire_model, tort_wire_tensor;

typedef struct tort_slim {
    uint8_t *bytes;
    size_t size, capacity;
} tort_slim;

/* Makes the slim copy of file 0, which holds a message of kind `root`. *slim is to be freed also on failure. */
tort_status tort_wire_slim(const tort_env *env, const tort_source *source, const tort_wire_message *root,
                           tort_slim *slim, tort_error *error);
void tort_slim_free(const tort_env *env, tort_slim *slim);

#endif
