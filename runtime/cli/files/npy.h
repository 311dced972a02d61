/* npy.h - NumPy's .npy format: one tensor, as a file or as .npz archives have it. */
#ifndef TORT_CLI_FILES_NPY_H
#define TORT_CLI_FILES_NPY_H

#include <stdio.h>

#include "runtime/cli/files/tensor_memory.h"

/* Reads the tensor of the bytes of a file, which are untrusted. Borrows nothing; the caller frees it with
 * tort_tensor_file_free. TORT_E_UNSUPPORTED where they hold no tensor (an object array). */
tort_status tort_tensor_npy_decode(const tort_env *env, const void *bytes, size_t size, tort_tensor *tensor,
                                   tort_error *error);
/* The type whose elements hold the bits of a type that NumPy does not have (bfloat16, floats of 8 bits and fewer,
 * packed integers), an element each; UNDEFINED for the others. */
tort_type tort_npy_bits_type(tort_type type);
/* Writes header and elements; false when the file refuses them. */
bool tort_npy_write(FILE *file, const tort_tensor *tensor);

#endif
