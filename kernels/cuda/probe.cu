/* probe.cu - a kernel that does nothing, to learn whether the binary has code for the device that was opened. */
#include "kernels/cuda/gpu.h"

#include <unistd.h>

#include "kernels/cuda/probe.h"

/* ---- kernel ---- */

static __global__ void probe_kernel(int *unused) {
    if (unused) *unused = 0;
}

/* ---- launcher ---- */

cudaError_t cuda_probe_image(void) {
    return load_kernel(probe_kernel);
}

bool cuda_machine_has_gpu(void) {
    return access("/dev/nvidia0", F_OK) == 0 || access("/dev/nvidia1", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
}
