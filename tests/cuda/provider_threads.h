/* provider_threads.h - contexts of one session, and sessions on two devices, each on a thread of its own. */
#ifndef TORT_TESTS_CUDA_PROVIDER_THREADS_H
#define TORT_TESTS_CUDA_PROVIDER_THREADS_H

#include "kernels/cudasim/control.h"
#include "runtime/include/provider.h"
#include "tests/cuda/provider_model.h"

/* Runs side by side give what a run alone gives, bit for bit; a device lost under one context is lost to all of its
 * session. Prints what is wrong; counts. */
void provider_threads_check(const tort_provider *provider, const cudasim_control *control, provider_model *model,
                            const float *expected, int *passed, int *failed);

#endif
