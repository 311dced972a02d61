/* wire.h - the pass over the wire format: a file, of which not one byte is trusted, becomes the slim copy (slim.h).
 *
 * It reads the file through a small window, checks every length against what encloses it, every field against its row
 * in onnx_messages.c and the depth against a limit, and keeps those fields alone, with the data of tensors replaced by
 * where it is in the file. So the copy is never larger than a few times the graph, whatever the weights weigh.
 *
 * Protobuf lets a field that is no list stand in a message several times: the last number or text counts, and so it is
 * here, but messages are to be merged, piece by piece. No writer of models leaves such pieces, and merging them is how
 * a small file takes much memory and time; so a second piece is refused, with its byte. */
#ifndef TORT_LOADER_WIRE_H
#define TORT_LOADER_WIRE_H

#include "loader/onnx_messages.h"
#include "loader/slim.h"
#include "loader/source.h"

/* Makes the slim copy of file 0, which holds a message of kind `root`. *slim is to be freed also on failure. */
tort_status tort_wire_slim(const tort_env *env, const tort_source *source, const tort_wire_message *root,
                           tort_slim *slim, tort_error *error);
void tort_slim_free(const tort_env *env, tort_slim *slim);

/* Takes the data of a tensor, a part at a time. */
typedef tort_status (*tort_data_sink)(void *ud, const uint8_t *bytes, size_t size, tort_error *error);

/* Reads the data of a tensor that file 0 holds in one stretch or in several. */
tort_status tort_wire_data(const tort_env *env, const tort_source *source, const tort_data *data, tort_data_sink sink,
                           void *ud, tort_error *error);

#endif
