/* probe.cu - a kernel that does nothing, to learn whether the binary has code for the device that was opened. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/probe.h"

/* ---- kernel ---- */

static __global__ void probe_kernel(int *unused) {
    if (unused) *unused = 0;
}

/* ---- launcher ---- */

cudaError_t cuda_probe_image(void) {
    return load_kernel(probe_kernel);
}
