/* tinyort_profile.h - profiles: for an application that wants to know what a run spends its time on, and how that
 * compares with what the machine can do. Stands beside tinyort.h, and goes by its rules; steps that are told are the
 * library's, as reports are. Read next: cli/profile.c. */
#ifndef TINYORT_PROFILE_H
#define TINYORT_PROFILE_H

#include "runtime/tinyort.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tort_profiled {
    TORT_PROFILED_NODE,      /* what a node does, but for its bodies */
    TORT_PROFILED_COPY,      /* between memories */
    TORT_PROFILED_CONVERSION /* into a layout, or back */
} tort_profiled;

/* A step of a run, as it was measured. */
typedef struct tort_profile_step {
    tort_profiled what;
    int32_t node; /* its index in the report; of a copy, that of the node that needs it; -1: the end of the run */
    const char *provider; /* of the chain; "host": the executor */
    int64_t begin, end;   /* nanoseconds of a clock that only goes forward */
    int64_t inside;       /* of these, those of steps of its bodies, which were told before it */
    double bytes;         /* of its inputs and outputs; of what it picks parts of, those parts; negative: not known */
    double flops;         /* 2 a multiply-add; negative: this operator is not counted */
} tort_profile_step;

/* Called after every step of a run that did not fail; from now on each is waited for, on a device too. `work` asks for
 * bytes and flops, which are negative without it: finding them takes longer than the times. NULL stops it. */
typedef void (*tort_profiler)(void *ud, const tort_profile_step *step);
TORT_API void tort_context_profile(tort_context *context, bool work, tort_profiler profiler, void *ud);

/* Can the runs of a plan be recorded by the provider of a device, which then gives that all of their work as one? Told
 * by tort_report. */
typedef enum tort_recording {
    TORT_RECORDING_NONE,        /* no provider of the chain records */
    TORT_RECORDING_UNKNOWN,     /* shapes are not known yet */
    TORT_RECORDING_WHOLE,       /* yes: in the second run with the same shapes and the same bound memory */
    TORT_RECORDING_ELSEWHERE,   /* no: a node runs on the host, or on another provider */
    TORT_RECORDING_BODIES,      /* no: a node runs bodies */
    TORT_RECORDING_DYNAMIC,     /* no: a shape depends on data */
    TORT_RECORDING_HOST_VALUES, /* no: a node reads, on the host, values that each run brings */
    TORT_RECORDING_RANDOM       /* no: a node makes other values in each run */
} tort_recording;

/* What a provider could do at most, on the threads of the session; 0: not known. */
typedef struct tort_peak {
    double flops; /* float32 operations a second, 2 a multiply-add */
    double bytes; /* read from memory and written to it a second, by blocks that no cache holds */
} tort_peak;

/* Measures it, which takes some tenths of a second and up to 64 MiB. A provider that did not open, or that cannot tell,
 * leaves 0. TORT_E_USAGE: the chain has no such provider. No run may be under way. */
TORT_API tort_status tort_session_peak(tort_session *session, const char *provider, tort_peak *peak, tort_error *error);

/* What a run asked of a device: each costs the host some microseconds, whatever there is to compute. */
typedef struct tort_device_calls {
    uint64_t launches; /* of kernels; a call of a library that launches some is one */
    uint64_t copies;   /* of memory from, to or on the device, and fillings of it */
    uint64_t waits;    /* times the host waited for the device */
    uint64_t
        allocations; /* of its memory, or of the host's that it locks for copies; of all contexts that ran meanwhile */
} tort_device_calls;

/* Of the context's last run, whether it failed or not: what it asked of a provider of the chain, or of all devices
 * together (provider NULL). Zeros: nothing, or nobody counts. Providers that share memory share a stream, and its
 * counts. TORT_E_USAGE: the chain has no such provider. */
TORT_API tort_status tort_context_calls(const tort_context *context, const char *provider, tort_device_calls *calls,
                                        tort_error *error);

#ifdef __cplusplus
}
#endif
#endif
