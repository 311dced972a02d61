/* network_calls.h - what runs of whole networks ask of the simulated device. See network_calls.c. */
#ifndef TORT_TESTS_CUDA_NETWORK_CALLS_H
#define TORT_TESTS_CUDA_NETWORK_CALLS_H

#include <stdbool.h>

#include "kernels/cudasim/control.h"
#include "runtime/include/provider.h"

/* Runs the networks that networks.py --write left in the folder, and says what each asks for. */
void network_calls_check(const tort_provider *provider, const cudasim_control *control, const char *folder, int *passed,
                         int *failed);

#endif
