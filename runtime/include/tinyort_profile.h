/* tinyort_profile.h - profiles: for an application that measures the time of the steps of a run, and compares it with
 * the machine's peak. Complements tinyort.h, with the same rules; the profiler's steps belong to the library, as
 * reports do. Read next: cli/profile.c. */
#ifndef TINYORT_PROFILE_H
#define TINYORT_PROFILE_H

#include "runtime/include/tinyort.h"

typedef enum tort_profiled {
    TORT_PROFILED_NODE,       /* a node, without its bodies */
    TORT_PROFILED_COPY,       /* between memories */
    TORT_PROFILED_CONVERSION, /* into a layout, or back */
    TORT_PROFILED_PART        /* what an engine tells of a segment, before the segment itself is told */
} tort_profiled;

/* A measured step of a run. */
typedef struct tort_profile_step {
    tort_profiled what;
    int32_t node;         /* index in the report; of a copy, that of the node that needs it; -1: the end of the run */
    const char *provider; /* of the chain; "host": the executor */
    int64_t begin, end;   /* nanoseconds of a monotonic clock */
    int64_t inside;       /* part of the time spent in steps of its bodies, or in parts, which were told before it */
    double bytes;         /* of inputs and outputs; only of the parts that it picks; negative: unknown */
    double flops;         /* 2 per multiply-add; negative: the operator is not counted */
    int32_t part;         /* of a PART: its number in the segment, name and operator; texts live as long as the call */
    const char *part_name, *part_op;
} tort_profile_step;

/* Called after every step of a run that did not fail; each step is waited for, on a device too. `work` requests bytes
 * and flops, which are negative without it: computing them takes longer than the times. NULL stops it. */
typedef void (*tort_profiler)(void *ud, const tort_profile_step *step);
TORT_API void tort_context_profile(tort_context *context, bool work, tort_profiler profiler, void *ud);

/* Whether the provider of a device can record a plan's runs, and then launch all their work as one (tort_report).
 * Otherwise the work before the node that prevents it is recorded, and the rest launched step by step. */
typedef enum tort_recording {
    TORT_RECORDING_NONE,        /* no provider of the chain records */
    TORT_RECORDING_UNKNOWN,     /* shapes are not known yet */
    TORT_RECORDING_WHOLE,       /* yes: in the second run with the same shapes and the same bound memory */
    TORT_RECORDING_ELSEWHERE,   /* a node runs on the host, or on another provider */
    TORT_RECORDING_BODIES,      /* a node runs bodies */
    TORT_RECORDING_DYNAMIC,     /* a shape depends on data */
    TORT_RECORDING_HOST_VALUES, /* a node reads, on the host, values that each run brings */
    TORT_RECORDING_RANDOM       /* a node makes other values in each run */
} tort_recording;

/* Peak rates of a provider, on the threads of the session; 0: unknown. */
typedef struct tort_peak {
    double flops; /* float32 operations per second, 2 per multiply-add */
    double bytes; /* read and written per second, in blocks larger than any cache */
} tort_peak;

/* Measures the peak, which takes some tenths of a second and up to 64 MiB. The peak of a provider that did not open, or
 * cannot tell, is 0. TORT_E_USAGE: the chain has no such provider. No run may be in progress. */
TORT_API tort_status tort_session_peak(tort_session *session, const char *provider, tort_peak *peak, tort_error *error);

/* Requests of a run to a device; each costs the host some microseconds, however much there is to compute. */
typedef struct tort_device_calls {
    uint64_t launches;    /* of kernels; a library call that launches several counts once */
    uint64_t copies;      /* from, to or within device memory, and fills of it */
    uint64_t waits;       /* times the host waited for the device */
    uint64_t allocations; /* of device memory or page-locked host memory, by all contexts meanwhile */
} tort_device_calls;

/* Requests of the context's last run, even if it failed, to a provider of the chain, or to all devices together
 * (provider NULL). Zeros: none, or not counted. Providers that share memory share a stream, and its counts.
 * TORT_E_USAGE: the chain has no such provider. */
TORT_API tort_status tort_context_calls(const tort_context *context, const char *provider, tort_device_calls *calls,
                                        tort_error *error);

#endif
