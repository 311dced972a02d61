/* images.c - the images of this build, see images.h. The Makefile alone defines the list, which is also what nvcc
 * compiles. */
#include "kernels/cuda/images.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char tort_cuda_images[] = TORT_CUDA_IMAGES;

/* True for the processors of Jetson boards: they run only their own machine code, and nothing else runs it. */
static bool is_tegra(int32_t capability) {
    return capability == 53 || capability == 62 || capability == 72 || capability == 87 || capability == 110;
}

/* True if the device runs this machine code: of its own major version, and the same or an older minor version. */
static bool runs_machine_code(int32_t capability, int32_t code) {
    if (is_tegra(capability) || is_tegra(code)) return capability == code;
    return capability / 10 == code / 10 && capability >= code;
}

cuda_image tort_cuda_pick_image(const char *images, int32_t capability) {
    cuda_image best = {0, false};
    for (const char *at = images; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
        const bool ptx = !strncmp(at, "PTX-", 4);
        const int32_t code = (int32_t)strtol(at + strcspn(at, "_-") + 1, NULL, 10);
        const bool runs = ptx ? capability >= code : runs_machine_code(capability, code);
        const bool better = best.ptx == ptx ? code > best.code : best.ptx || !best.code;
        if (runs && better) best = (cuda_image){code, ptx};
    }
    return best;
}

cuda_image tort_cuda_image_of(int32_t capability) {
    return tort_cuda_pick_image(tort_cuda_images, capability);
}

void tort_cuda_image_cure(int32_t capability, char *cure, size_t size) {
    enum { OLDEST = 75 }; /* the oldest that CUDA 13 compiles for */
    if (capability < OLDEST)
        snprintf(cure, size, "use a GPU of sm_%d or newer, or take cuda out of the chain", OLDEST);
    else
        snprintf(cure, size, "build tinyort with CUDA_ARCHS=%d", capability);
}
