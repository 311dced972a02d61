/* stub_library.c - a cuBLAS or a cuDNN of empty functions, for library_files.sh: -DCUBLAS or -DCUDNN. Says when it is
 * unmapped before the program ends. */
#include <stdio.h>

#include "kernels/cuda/library_api.h"

#define STUB(type, name, parameters)                                                                                   \
    type name parameters {                                                                                             \
        return (type)0;                                                                                                \
    }
#ifdef CUBLAS
CUBLAS_FUNCTIONS(STUB)
#endif
#ifdef CUDNN
CUDNN_FUNCTIONS(STUB)
#endif
