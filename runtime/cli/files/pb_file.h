/* pb_file.h - what reading and writing of single tensors and values in files share. Private to this folder.
 *
 * A .pb goes the way of a model: it is parsed without its data, which is then read straight to where it belongs. */
#ifndef TORT_CLI_FILES_PB_FILE_H
#define TORT_CLI_FILES_PB_FILE_H

#include <stdio.h>

#include "loader/loader.h"

bool tort_path_ends(const char *path, const char *ending);

/* Reads a file that holds a message of kind `root`: gives it to `read`, for as long as that runs. TORT_E_USAGE where
 * the path does not end in .pb. */
tort_status tort_pb_read(const tort_env *env, const char *path, const ProtobufCMessageDescriptor *root,
                         tort_status (*read)(tort_loader *loader, const void *proto, void *ud), void *ud,
                         tort_error *error);
/* How reading a file ended: what would be wrong with a model is here wrong with an input; the message names the path.
 */
tort_status tort_file_status(const char *path, tort_status status, tort_error *error);

/* Writes a file, .npy or .pb, by `write`, which is false where errno tells what went wrong. */
tort_status tort_file_write(const char *path, bool (*write)(FILE *file, const void *what, const char *name),
                            const void *what, const char *name, tort_error *error);

/* What SequenceProto and OptionalProto call a kind in elem_type, and we in messages. */
typedef struct tort_container_facts {
    int32_t number;
    const char *what;
} tort_container_facts;

tort_container_facts tort_container_of(tort_kind kind);

/* The message of a tensor, or of any value: TensorProto, SequenceProto, OptionalProto, MapProto. name may be NULL. */
bool tort_pb_write_tensor(FILE *file, const tort_tensor *tensor, const char *name);
bool tort_pb_write_value(FILE *file, const tort_value *value, const char *name);

#endif
