/* simulator.h - the simulated device as tests reach it: its provider, and what arranges it. */
#ifndef TORT_TESTS_CUDA_SIMULATOR_H
#define TORT_TESTS_CUDA_SIMULATOR_H

#include "kernels/cudasim/control.h"
#include "runtime/include/provider.h"
#include "runtime/include/tinyort_profile.h"

/* Opens libtinyort-cudasim.so where the loader looks; false: it is not there, or of another build. */
bool simulator_open(const tort_provider **provider, const cudasim_control **control);

/* Calls of CUDA since configure, without those that make a device current and give it back: on the device that is
 * current anyway, the failure of one of those changes nothing. */
int simulator_calls_that_matter(const cudasim_control *control);

/* What the device was asked for since configure, and since then; pinned memory is among the allocations. */
tort_device_calls simulator_saw(const cudasim_control *control);
tort_device_calls simulator_saw_since(const cudasim_control *control, const tort_device_calls *before);

#endif
