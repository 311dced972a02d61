/* staging.h - page-locked memory of a stream, through which its copies between host and device go.
 *
 * The device copies from and to ordinary memory of the host only while the host waits; through this one the host goes
 * on. Pieces are taken one behind another and all given back when the stream was waited for: then what came from the
 * device is brought to where it was asked for. For host code of builds with CUDA (or cudasim). */
#ifndef TORT_KERNELS_CUDA_STAGING_H
#define TORT_KERNELS_CUDA_STAGING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/cuda/cuda_api.h"

typedef struct cuda_staging {
    uint8_t *base; /* owned; NULL: there is none */
    size_t bytes, used;
} cuda_staging;

/* Bytes that so many copies take in it, at most. */
size_t cuda_staging_need(int32_t copies, size_t bytes);
/* To `need` bytes at least, more than there are, when none of it is taken. If that cannot be had there is none. */
void cuda_staging_grow(cuda_staging *staging, size_t need);
void cuda_staging_free(cuda_staging *staging);
/* A piece of it. `to`: host memory that gets its bytes in the end; NULL: none, they are for the device. NULL: it is
 * full, or too small. */
void *cuda_staging_take(cuda_staging *staging, size_t bytes, void *to);
/* The stream was waited for, and everything has arrived; or not (a lost device). Gives all pieces back. */
void cuda_staging_deliver(cuda_staging *staging, bool arrived);

#endif
