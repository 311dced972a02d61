/* tensor_file.h - single tensors in files: .pb (ONNX's TensorProto, as its test data has them) and .npy (NumPy).
 *
 * For the command line and tests; models do not come this way. A file is untrusted: every size is checked. A .raw file
 * has no header and is read by who knows its type and shape. */
#ifndef TORT_CLI_FILES_TENSOR_FILE_H
#define TORT_CLI_FILES_TENSOR_FILE_H

#include "runtime/cli/files/tensor_memory.h"

/* Reads a tensor; the ending of the path tells the format. The caller frees it with tort_tensor_file_free.
 * TORT_E_UNSUPPORTED where the file holds no tensor (a SequenceProto, an object array). */
tort_status tort_tensor_file_read(const tort_env *env, const char *path, tort_tensor *tensor, tort_error *error);
/* Writes a tensor; the ending tells the format. `name` goes into a .pb. A type that NumPy does not have (bfloat16,
 * 8 bits and below) is written as .npy in the unsigned integers that hold its bits, unpacked. */
tort_status tort_tensor_file_write(const char *path, const char *name, const tort_tensor *tensor, tort_error *error);

#endif
