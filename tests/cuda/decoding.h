/* decoding.h - tokens of a decoder whose cache is extended on the simulated device. See decoding.c. */
#ifndef TORT_TESTS_CUDA_DECODING_H
#define TORT_TESTS_CUDA_DECODING_H

#include <stdbool.h>

#include "kernels/cudasim/control.h"
#include "runtime/include/provider.h"

/* Runs the decoders that networks.py --write left in the folder, and says what a token asks for. */
void decoding_check(const tort_provider *provider, const cudasim_control *control, const char *folder, int *passed,
                    int *failed);

#endif
