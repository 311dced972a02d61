/* library_models.h - the models of library_rows.c. Each borrows the bytes; a mistake in one ends the test. */
#ifndef TORT_TESTS_CUDA_LIBRARY_MODELS_H
#define TORT_TESTS_CUDA_LIBRARY_MODELS_H

#include "tests/onnx_bytes.h"

float library_value(int i);
/* An initializer of at most 512 such values. */
void library_weight(onnx_bytes *b, const char *name, int rank, const int64_t *dims);

/* A Conv of 3x3, then one of 1x1 with a bias; from x [N,3,9,9], or from x [N] brought into the shape that an input
 * tells while running. */
tort_model *library_model(bool reshaped, onnx_bytes *b);
/* Of x [N,3,9,9] too: FusedConv that needs a launch after cuDNN, and one that is a single call; a Gemm and a
 * FusedMatMul that need a launch beside cuBLAS. */
tort_model *library_fused_model(onnx_bytes *b);

#endif
