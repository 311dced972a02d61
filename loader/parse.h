/* parse.h - parses file 0 of a source into the structs that protoc-c generates from onnx.proto: the pass of wire.h,
 * then protobuf-c.
 *
 * An absent text is NULL in the structs, see tort_text_of. Their contents have been checked against the wire format,
 * and against nothing else. */
#ifndef TORT_LOADER_PARSE_H
#define TORT_LOADER_PARSE_H

#include "loader/onnx.pb-c.h"
#include "loader/wire.h"

typedef struct tort_parsed {
    tort_arena small;               /* all blocks but the large ones */
    struct tort_large_block *large; /* the newest; a list */
    bool out_of_memory;
    void *root; /* the message of the requested kind, in the blocks above */
} tort_parsed;

/* Parses a message of kind `root`. All memory comes from `env`, which must limit it: from a hostile file the parser
 * makes 100 bytes per byte. *parsed must be freed also after a failure. */
tort_status tort_parse(const tort_env *env, const tort_source *source, const ProtobufCMessageDescriptor *root,
                       tort_parsed *parsed, tort_error *error);
void tort_parsed_free(tort_parsed *parsed);

/* The text, "" for NULL. */
static inline const char *tort_text_of(const char *text) {
    return text ? text : "";
}

#endif
