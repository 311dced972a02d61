/* value_file.h - values of any kind in .pb files: ONNX's TensorProto, SequenceProto, OptionalProto and MapProto, as in
 * its test data. For the command line and tests; a file is untrusted. */
#ifndef TORT_CLI_FILES_VALUE_FILE_H
#define TORT_CLI_FILES_VALUE_FILE_H

#include "runtime/core/base/error.h"

/* Reads a value of the given type, since a .pb file does not state its own. Elements of UNDEFINED type may be any. The
 * caller releases the value. A tensor may also be in an .npy. */
tort_status tort_value_file_read(const tort_env *env, const char *path, tort_value_type type, tort_value **value,
                                 tort_error *error);
/* Writes a value as .pb; a tensor also as .npy. `name` goes into a .pb. */
tort_status tort_value_file_write(const char *path, const char *name, const tort_value *value, tort_error *error);

/* True if the path ends so: ".npy". */
bool tort_path_ends(const char *path, const char *ending);

#endif
