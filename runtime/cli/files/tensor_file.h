/* tensor_file.h - single tensors in files: .pb (ONNX's TensorProto, as in its test data) and .npy (NumPy).
 *
 * For the command line and tests only; models are read by loader/. A file is untrusted: every size is checked. A .raw
 * file has no header; its reader must know type and shape (inputs.c). */
#ifndef TORT_CLI_FILES_TENSOR_FILE_H
#define TORT_CLI_FILES_TENSOR_FILE_H

#include "runtime/cli/files/tensor_memory.h"

/* Reads a tensor in the format of the path's ending. The caller frees it with tort_tensor_file_free. TORT_E_UNSUPPORTED
 * if the file holds no tensor (a SequenceProto, an object array). */
tort_status tort_tensor_file_read(const tort_env *env, const char *path, tort_tensor *tensor, tort_error *error);
/* Writes a tensor in the format of the path's ending. `name` goes into a .pb. A type that NumPy lacks (bfloat16, 8 bits
 * and below) is written to .npy as the unsigned integers that hold its bits, unpacked. */
tort_status tort_tensor_file_write(const char *path, const char *name, const tort_tensor *tensor, tort_error *error);

#endif
