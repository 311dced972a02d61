/* parse.h - file 0 of a source as the structs that protoc-c generates from onnx.proto: the pass of wire.h, then
 * protobuf-c.
 *
 * In the structs a text that is not there is NULL, see tort_text_of. Whatever is in them has been checked against the
 * format, and against nothing else. */
#ifndef TORT_LOADER_PARSE_H
#define TORT_LOADER_PARSE_H

#include "loader/onnx.pb-c.h"
#include "loader/wire.h"

typedef struct tort_parsed {
    tort_arena small;               /* all blocks but the large ones */
    struct tort_large_block *large; /* the last one that was made */
    bool out_of_memory;
    void *root; /* the message, of the kind that was asked for; its memory is that of the blocks above */
} tort_parsed;

/* Parses a message of kind `root`. All memory is taken of `env`, which must bound it: of a hostile file the parser
 * makes 100 bytes for each. *parsed is to be freed also on failure. */
tort_status tort_parse(const tort_env *env, const tort_source *source, const ProtobufCMessageDescriptor *root,
                       tort_parsed *parsed, tort_error *error);
void tort_parsed_free(tort_parsed *parsed);

/* "" where there is none. */
static inline const char *tort_text_of(const char *text) {
    return text ? text : "";
}

#endif
