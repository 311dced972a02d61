/* value_file.h - values of any kind in .pb files: ONNX's TensorProto, SequenceProto, OptionalProto and MapProto, as its
 * test data has them. For the command line and tests; a file is untrusted. */
#ifndef TORT_CLI_FILES_VALUE_FILE_H
#define TORT_CLI_FILES_VALUE_FILE_H

#include "runtime/base/error.h"

/* Reads a value of this type: a file does not say what it holds. Elements of UNDEFINED type may be any. The caller
 * releases it. A tensor may be in an .npy as well. */
tort_status tort_value_file_read(const tort_env *env, const char *path, tort_value_type type, tort_value **value,
                                 tort_error *error);
/* Writes a value; a tensor also as .npy. `name` goes into a .pb. */
tort_status tort_value_file_write(const char *path, const char *name, const tort_value *value, tort_error *error);

#endif
