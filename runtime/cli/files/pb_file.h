/* pb_file.h - shared by readers and writers of single tensors and values in files. Private to this folder.
 *
 * A .pb is read as a model is: parsed without its data, which is then read directly into its destination. */
#ifndef TORT_CLI_FILES_PB_FILE_H
#define TORT_CLI_FILES_PB_FILE_H

#include <stdio.h>

#include "loader/loader.h"
#include "runtime/cli/files/tensor_memory.h"
#include "runtime/cli/files/value_file.h"

/* Opens a regular file of at most TORT_MAX_FILE_BYTES. The caller closes it. */
tort_status tort_file_open(const tort_env *env, const char *path, tort_source **source, tort_error *error);
/* Reads a file that holds a message of kind `root` and passes the message to `read`; it is freed afterwards.
 * TORT_E_USAGE if the path does not end in .pb. */
tort_status tort_pb_read(const tort_env *env, const char *path, const ProtobufCMessageDescriptor *root,
                         tort_status (*read)(tort_loader *loader, const void *proto, void *ud), void *ud,
                         tort_error *error);
/* Completes the error of a read file: TORT_E_MODEL becomes TORT_E_INPUT, as the file is an input, and the message names
 * the path. */
tort_status tort_file_status(const char *path, tort_status status, tort_error *error);

/* Writes a file, .npy or .pb, by `write`, which returns false and sets errno on failure. */
tort_status tort_file_write(const char *path, bool (*write)(FILE *file, const void *what, const char *name),
                            const void *what, const char *name, tort_error *error);

/* A kind of elements in SequenceProto and OptionalProto: the number of elem_type, and its name in messages. */
typedef struct tort_container_facts {
    int32_t number;
    const char *what;
} tort_container_facts;

tort_container_facts tort_container_of(tort_kind kind);

/* Write the message of a tensor, or of any value: TensorProto, SequenceProto, OptionalProto, MapProto. name may be
 * NULL. */
bool tort_pb_write_tensor(FILE *file, const tort_tensor *tensor, const char *name);
bool tort_pb_write_value(FILE *file, const tort_value *value, const char *name);

#endif
