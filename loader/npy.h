/* npy.h - NumPy's .npy format, for tensor_file.c; decoding is public there. */
#ifndef TORT_LOADER_NPY_H
#define TORT_LOADER_NPY_H

#include <stdio.h>

#include "loader/tensor_file.h"

/* Writes header and elements; false when the file refuses them. */
bool tort_npy_write(FILE *file, const tort_tensor *tensor);

#endif
