/* graph.h - the work of a run as a CUDA graph: recorded once, then given to the device by one call. For host code of
 * builds with CUDA (or cudasim). */
#ifndef TORT_KERNELS_CUDA_GRAPH_H
#define TORT_KERNELS_CUDA_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/cuda/cuda_api.h"
#include "runtime/tinyort.h"

typedef enum cuda_recording_mode {
    CUDA_PLAIN,   /* what is asked of the stream is done */
    CUDA_RECORDS, /* it is recorded, and done when the run ends */
    CUDA_REPLAYS  /* it is recorded already: copies only put their bytes into the staging memory */
} cuda_recording_mode;

/* Of a stream. */
typedef struct cuda_recording {
    cuda_recording_mode mode;
    cudaGraphExec_t graph;     /* NULL: nothing is recorded */
    bool refused;              /* recording failed: not again while runs stay the same */
    bool faults;               /* it reads the status word back at its end */
    const char *why;           /* a copy could not be recorded; NULL: none was in the way */
    uint64_t launches, copies; /* in it; while it is recorded, the stream's before */
} cuda_recording;

/* Members of the provider's vtable. */
bool cuda_begin(void *device, void *stream, bool same);
bool cuda_end(void *device, void *stream, tort_status status);
void cuda_recording_note(void *device, char *text, size_t size);

#endif
