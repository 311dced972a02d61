/* probe.h - a question of device.c that needs device code. */
#ifndef TORT_KERNELS_CUDA_PROBE_H
#define TORT_KERNELS_CUDA_PROBE_H

#include "kernels/cuda/cuda_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Has the binary an image of its kernels for the current device? Loads one of them. */
cudaError_t cuda_probe_image(void);

#ifdef __cplusplus
}
#endif
#endif
