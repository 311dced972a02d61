/* images.h - the images of kernels in this build, and the one that a GPU runs. Plain C, in every build. */
#ifndef TORT_KERNELS_CUDA_IMAGES_H
#define TORT_KERNELS_CUDA_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "sm_80 sm_90 PTX-80": machine code, and PTX that the driver compiles for any newer device. In a build without CUDA
 * and in the simulated device: what `make` compiles by default. */
extern const char tort_cuda_images[];

typedef struct cuda_image {
    int32_t code; /* compute capability it was compiled for, as __CUDA_ARCH__ / 10; 0: none */
    bool ptx;
} cuda_image;

/* Returns the image that a device of this compute capability runs. A claim of a kernel that needs newer code than
 * the oldest image must check `code`: a new device that is served by old PTX runs the old code. */
cuda_image tort_cuda_image_of(int32_t capability);
/* The same for another list. */
cuda_image tort_cuda_pick_image(const char *images, int32_t capability);
/* Writes a remedy for a device without an image. */
void tort_cuda_image_cure(int32_t capability, char *cure, size_t size);

#endif
