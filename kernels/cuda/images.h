/* images.h - the code that this build has for GPUs, and which of it a GPU runs. Plain C, in every build. */
#ifndef TORT_KERNELS_CUDA_IMAGES_H
#define TORT_KERNELS_CUDA_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "sm_80 sm_90 PTX-80": machine code, and PTX that the driver compiles for any newer device. Of a build without CUDA
 * and of the simulated device, what `make` compiles unless told otherwise. */
extern const char tort_cuda_images[];

typedef struct cuda_image {
    int32_t code; /* the compute capability that it was compiled for, as __CUDA_ARCH__ / 10; 0: there is none */
    bool ptx;
} cuda_image;

/* What a device of this compute capability runs. A claim of a kernel that needs newer code than the oldest image has
 * must look at `code`: a new device that is served by old PTX runs the old code. */
cuda_image tort_cuda_image_of(int32_t capability);
/* The same of another list. */
cuda_image tort_cuda_pick_image(const char *images, int32_t capability);
/* What helps a device for which there is none. */
void tort_cuda_image_cure(int32_t capability, char *cure, size_t size);

#endif
