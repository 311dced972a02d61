/* run.h - a compiled segment, and what a context has of it (host.h). */
#ifndef TORT_KERNELS_PLUGIN_RUN_H
#define TORT_KERNELS_PLUGIN_RUN_H

#include "kernels/plugin/host.h"

typedef struct tort_host_compiled {
    ort_compute *compute;
    ort_context context;
    char name[96];
    int32_t input_count, constant_count, output_count; /* constant_count 0: the plugin keeps them itself */
    /* Constants that the plugin reads as inputs of a run: copies, by tort_alloc_aligned. */
    ort_value *constants;
} tort_host_compiled;

/* OrtKernelContext: of one context of the session, from run to run. */
struct ort_run {
    tort_host *host;
    const tort_call *call;
    void *state;  /* of the plugin */
    size_t bytes; /* of this block */
    int32_t input_count, output_count;
    bool *asked;        /* by output: the plugin has taken it */
    ort_value values[]; /* inputs, then outputs */
};

#endif
