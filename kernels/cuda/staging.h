/* staging.h - page-locked memory of a stream, through which its copies between host and device go.
 *
 * A copy from or to pageable memory makes the host wait; a copy from or to page-locked memory is asynchronous.
 * Pieces are taken one after the other and released together once the host has waited for the stream; data from the
 * device are then copied to their destinations. For host code of builds with CUDA (or cudasim). */
#ifndef TORT_KERNELS_CUDA_STAGING_H
#define TORT_KERNELS_CUDA_STAGING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/cuda/cuda_api.h"

enum { CUDA_STAGING_ALIGN = 64 };

typedef struct cuda_staging {
    uint8_t *base; /* owned; may be NULL */
    size_t bytes, used;
} cuda_staging;

/* Max bytes of staging that `copies` copies of together `bytes` bytes take. */
size_t cuda_staging_need(int32_t copies, size_t bytes);
/* Reallocates with `need` bytes or more; `need` must exceed the size, and no piece may be taken. Without memory,
 * staging is left empty. */
void cuda_staging_grow(cuda_staging *staging, size_t need);
void cuda_staging_free(cuda_staging *staging);
/* Returns a piece, or NULL if it does not fit. `to`: host memory that cuda_staging_deliver copies the piece to; NULL
 * for data on their way to the device. */
void *cuda_staging_take(cuda_staging *staging, size_t bytes, void *to);
/* Takes an empty piece so that `until` bytes, a multiple of CUDA_STAGING_ALIGN, are taken; false: more are, or there
 * are not so many. */
bool cuda_staging_skip(cuda_staging *staging, size_t until);
/* Releases all pieces after a wait for the stream; delivers them first if they have `arrived` (false: a lost
 * device). */
void cuda_staging_deliver(cuda_staging *staging, bool arrived);

#endif
