/* npy.h - NumPy's .npy format, for tensor_file.c; decoding is public there. */
#ifndef TORT_LOADER_NPY_H
#define TORT_LOADER_NPY_H

#include <stdio.h>

#include "loader/tensor_file.h"

/* Writes header and elements; false when the file refuses them. */
bool tort_npy_write(FILE *file, const tort_tensor *tensor);
/* Memory for a tensor whose type and shape are set, and `text` more bytes for its strings. */
tort_status tort_tensor_file_alloc(const tort_env *env, tort_tensor *tensor, size_t text, tort_error *error);

#endif
