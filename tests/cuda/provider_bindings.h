/* provider_bindings.h - the CUDA provider with inputs and outputs that stay on the device. */
#ifndef TORT_TESTS_CUDA_PROVIDER_BINDINGS_H
#define TORT_TESTS_CUDA_PROVIDER_BINDINGS_H

#include "kernels/cudasim/control.h"
#include "runtime/provider.h"
#include "tests/cuda/provider_model.h"

/* Device pointers in and out, aligned and not, streams eager and lazy; pointers into the wrong memory; each call of
 * CUDA fails once. Prints what is wrong; counts. env's allocator is the sessions'. */
void provider_bindings_check(const tort_provider *provider, const cudasim_control *control, const tort_env *env,
                             provider_model *model, const float *expected, int *passed, int *failed);

#endif
