/* probe.h - two questions of device.c that need device code or a look at the machine. */
#ifndef TORT_KERNELS_CUDA_PROBE_H
#define TORT_KERNELS_CUDA_PROBE_H

#include <stdbool.h>

#include "kernels/cuda/cuda_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Has the binary an image of its kernels for the current device? Loads one of them. */
cudaError_t cuda_probe_image(void);
/* Has this machine a GPU, whatever CUDA is told to show? */
bool cuda_machine_has_gpu(void);

#ifdef __cplusplus
}
#endif
#endif
