/* npy.h - NumPy's .npy format: one tensor, in a file or in an entry of an .npz archive. */
#ifndef TORT_CLI_FILES_NPY_H
#define TORT_CLI_FILES_NPY_H

#include <stdio.h>

#include "runtime/cli/files/tensor_memory.h"

#define TORT_NPY_MAGIC "\x93NUMPY" /* a file begins with it */

/* Decodes the bytes of a file, which are untrusted. The tensor borrows nothing; the caller frees it with
 * tort_tensor_file_free. TORT_E_UNSUPPORTED if they hold no tensor (an object array). */
tort_status tort_tensor_npy_decode(const tort_env *env, const void *bytes, size_t size, tort_tensor *tensor,
                                   tort_error *error);
/* The unsigned type that holds, one per element, the bits of a type that NumPy lacks (bfloat16, floats of 8 bits and
 * fewer, packed integers); UNDEFINED for other types. */
tort_type tort_npy_bits_type(tort_type type);
/* Bytes with which the strings of a tensor are filled up to the length of the longest; 0 for other types. */
uint64_t tort_npy_padding(const tort_tensor *tensor);
/* Writes header and elements; false if writing fails. */
bool tort_npy_write(FILE *file, const tort_tensor *tensor);

#endif
