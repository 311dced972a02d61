/* staging.c - see staging.h. A header with the destination precedes the bytes of each piece. */
#if defined(TORT_CUDA) || defined(TORT_CUDASIM)
#include "kernels/cuda/staging.h"

#include <string.h>

/* Max bytes of staging: page-locked memory is lost to all other programs, and for larger copies the host's wait is a
 * small part of the time. */
#define MAX_STAGED ((size_t)64 << 20)

enum { ALIGN = CUDA_STAGING_ALIGN };

/* Header in the first ALIGN bytes of a piece; the data follow. */
typedef struct piece {
    void *to; /* host memory; NULL: a copy to the device */
    size_t bytes;
} piece;

static size_t aligned(size_t bytes) {
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

size_t cuda_staging_need(int32_t copies, size_t bytes) {
    const size_t heads = (size_t)copies * 2 * ALIGN;
    return bytes < MAX_STAGED && heads < MAX_STAGED - bytes ? bytes + heads : MAX_STAGED;
}

void cuda_staging_grow(cuda_staging *staging, size_t need) {
    const size_t half_more = staging->bytes + staging->bytes / 2;
    const size_t bytes = half_more > MAX_STAGED ? MAX_STAGED : need > half_more ? need : half_more;
    void *base = NULL;
    cuda_staging_free(staging);
    if (cudaMallocHost(&base, bytes) == cudaSuccess)
        *staging = (cuda_staging){.base = base, .bytes = bytes};
    else
        (void)cudaGetLastError(); /* staging is optional: clear the error for the next call */
}

void cuda_staging_free(cuda_staging *staging) {
    if (staging->base) cudaFreeHost(staging->base);
    *staging = (cuda_staging){0};
}

void *cuda_staging_take(cuda_staging *staging, size_t bytes, void *to) {
    const size_t left = staging->bytes - staging->used;
    if (left < ALIGN || bytes > left - ALIGN) return NULL;
    uint8_t *at = staging->base + staging->used;
    const piece head = {to, bytes};
    memcpy(at, &head, sizeof head);
    staging->used += ALIGN + aligned(bytes);
    if (staging->used > staging->bytes) staging->used = staging->bytes;
    return at + ALIGN;
}

bool cuda_staging_skip(cuda_staging *staging, size_t until) {
    if (staging->used == until) return true;
    return staging->used < until && until <= staging->bytes &&
           cuda_staging_take(staging, until - staging->used - ALIGN, NULL) && staging->used == until;
}

void cuda_staging_deliver(cuda_staging *staging, bool arrived) {
    for (size_t at = 0; arrived && at < staging->used;) {
        piece head;
        memcpy(&head, staging->base + at, sizeof head);
        if (head.to) memcpy(head.to, staging->base + at + ALIGN, head.bytes);
        at += ALIGN + aligned(head.bytes);
    }
    staging->used = 0;
}
#else
typedef int cuda_staging_is_in_builds_with_cuda; /* ISO C forbids an empty translation unit */
#endif
