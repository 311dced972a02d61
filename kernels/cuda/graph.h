/* graph.h - the work of a run as a CUDA graph: recorded once, then replayed by one call. For host code of builds
 * with CUDA (or cudasim). */
#ifndef TORT_KERNELS_CUDA_GRAPH_H
#define TORT_KERNELS_CUDA_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/cuda/cuda_api.h"
#include "runtime/include/tinyort.h"

typedef enum cuda_recording_mode {
    CUDA_PLAIN,   /* work is executed as it is submitted */
    CUDA_RECORDS, /* work is recorded, and executed when the run ends */
    CUDA_REPLAYS  /* work is recorded already: copies only write their bytes to the staging memory */
} cuda_recording_mode;

/* A recording of a stream. */
typedef struct cuda_recording {
    cuda_recording_mode mode;
    cudaGraphExec_t graph;     /* NULL: nothing is recorded */
    int32_t failures;          /* attempts to record in a row that failed */
    int32_t pause;             /* runs to be made plainly before the next attempt */
    size_t staged;             /* bytes of staging memory that are taken before its own copies */
    bool faults;               /* the graph reads the status word back at its end */
    const char *why;           /* runs like this one cannot be recorded, and why; NULL: they can */
    uint64_t launches, copies; /* in the graph; while recording, the stream's counts at its start */
} cuda_recording;

/* Members of the provider's vtable. */
bool cuda_begin(void *device, void *stream, int32_t which, bool same);
bool cuda_end(void *device, void *stream, tort_status status);
void cuda_recording_note(void *device, char *text, size_t size);

#endif
