/* control.h - the interface between tests and the simulated device: settings of the machine, injected errors, checks
 * for leaks.
 *
 * Reached as `extra` of the plugin that libtinyort-cudasim.so exports (runtime/core/providers/plugin.h). Settings apply
 * to the whole machine; configure may be called whenever no kernel runs, and also resets errors, counts and armed
 * injections. C and C++. Read next: cudart.h for the API that obeys these settings. */
#ifndef CUDASIM_CONTROL_H
#define CUDASIM_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cudasim_order { CUDASIM_FORWARD, CUDASIM_REVERSE, CUDASIM_RANDOM } cudasim_order;

typedef struct cudasim_settings {
    int device_count;          /* 0 to 2; 0: none, or all hidden by CUDA_VISIBLE_DEVICES */
    int driver_version;        /* as from cudaDriverGetVersion: 13000 is 13.0; 0: no driver */
    int runtime_version;       /* a driver of an older major version gives cudaErrorInsufficientDriver */
    int capability;            /* 80 for sm_80 */
    int multiprocessors;       /* of each device, as the properties tell; blocks run one at a time all the same */
    size_t memory_bytes;       /* of each device */
    size_t file_cache;         /* bytes of it that hold files; more than 0: the device shares the host's memory */
    size_t shared_bytes;       /* max shared memory of a block, static and dynamic; 0: as the capability has it */
    int initialization_error;  /* a cudaError_t that every call which needs a device returns; 0: none */
    const char *gpu_file;      /* "/dev/nvidia0", of a GPU that is there whatever device_count; may be NULL. Borrowed */
    bool gpu_forbidden;        /* the user may not open it */
    const char *driver_number; /* "580.65.06"; NULL: the machine does not tell. Borrowed */
    bool no_kernel_image;      /* the binary has no code for the device */
    bool lazy_streams;         /* work runs only when something waits for it, youngest stream first */
    bool others_capture;       /* another thread, of the application, captures a stream of each device all the time */
    int queue_length;          /* max units of work in a lazy stream's queue; one more runs the oldest; 0: no limit */
    cudasim_order order;       /* of blocks, threads and wake-ups */
    unsigned seed;             /* of the random order */
    int cublas_version;        /* installed major version: 13, 12, or 0 for none */
    int cudnn_version;         /* likewise: 9, 8, or 0 */
    bool driver_file;          /* libcuda.so.1 exists, even if driver_version is 0 */
    const char *broken_file;   /* file that exists but does not load, e.g. "libcublas.so.13"; may be NULL. Borrowed */
    const char *missing_symbol;      /* symbol that driver and libraries lack; may be NULL. Borrowed */
    const char *unsupported;         /* library function that returns NOT_SUPPORTED; may be NULL. Borrowed */
    unsigned unsupported_algorithms; /* bit i: cuDNN offers forward algorithm i, but refuses to run it */
    int kernel_microseconds, library_microseconds; /* that a kernel and a library's call take, for events; 10 */
    bool stop_at_failure;                          /* print the misbehaviour of a kernel and abort, for a debugger */
    bool meter_traffic; /* measures instrumented kernels (mode `race`) instead of searching for races */
} cudasim_settings;

/* Memory traffic of launches, without any cache. A warp access is one instruction that the lanes of a warp execute
 * together. */
typedef struct cudasim_traffic_counts {
    uint64_t launches;
    uint64_t read_bytes, written_bytes; /* of global memory; atomics count as writes */
    uint64_t sectors;                   /* 32-byte sectors of global memory, summed over warp accesses */
    uint64_t bank_conflicts; /* passes of warp accesses over the 32 banks of shared memory beyond the minimum */
} cudasim_traffic_counts;

typedef struct cudasim_traffic {
    char kernel[128]; /* name and template arguments, possibly truncated */
    cudasim_traffic_counts counts;
} cudasim_traffic;

typedef struct cudasim_control {
    unsigned version; /* CUDASIM_CONTROL_VERSION */
    /* Returns the defaults: two devices of sm_80 with 108 multiprocessors and 1 GiB, driver 13.0, runtime 12.9, cuBLAS
     * 13, cuDNN 9, eager streams, forward order. */
    cudasim_settings (*defaults)(void);
    void (*configure)(const cudasim_settings *settings);
    /* Changes settings to those of a broken machine: "old_driver" (machines.cpp has all). False: no such machine. */
    bool (*machine)(const char *name, cudasim_settings *settings);
    /* Makes the nth call from now (1: the next) of the function (NULL: of any) fail with this cudaError_t; 0
     * disarms. A code that means a lost device (cudaErrorIllegalAddress, ...LaunchFailure) also loses the device.
     * Library calls report it as a failed allocation. Functions that free or destroy still do so. */
    void (*fail_nth)(const char *function, int nth, int code);
    /* Makes the nth kernel launched from now (1: the next) lose the device with this cudaError_t when it runs; with
     * lazy streams its launch still succeeds. 0 disarms. */
    void (*fault_nth)(int nth, int code);
    int (*calls)(const char *function); /* since configure; NULL: of all functions */
    /* Returns the number of live buffers, streams, events, graphs and library objects; text (may be NULL) lists them
     * by kind. */
    size_t (*leftovers)(char *text, size_t text_size);
    /* Returns a description of the last violation by a kernel or copy, with its place; "" if none. Borrowed until
     * the next failure. */
    const char *(*failure)(void);
    /* cudaMallocHost and cudaFreeHost, for tests that are not linked to the API; NULL on failure. */
    void *(*host_alloc)(size_t bytes);
    void (*host_free)(void *memory);
    /* A non-blocking stream of the application on the current device, NULL on failure; a copy to the device in it, 0 if
     * it was accepted; and its end. */
    void *(*stream_open)(void);
    int (*stream_capture)(void *stream); /* begins to capture it for all threads; stream_close ends it */
    int (*stream_copy)(void *stream, void *to, const void *from, size_t bytes);
    void (*stream_close)(void *stream);
    /* Set and get the calling thread's current device, as an application would; neither starts CUDA on it. */
    void (*set_device)(int device);
    int (*current_device)(void);
    /* Returns what cudaGetLastError would tell the application, and clears it; a lost device does not count. */
    int (*last_error)(void);
    /* Returns the number of kernels since configure whose code was loaded by their first launch rather than ahead of
     * it; unload marks all as not loaded. */
    int (*late_loads)(void);
    /* Returns the number of calls since configure that broke a capture, one of their own or another's. */
    int (*broken_captures)(void);
    void (*unload)(void);
    /* True if CUDA was started on the device since configure. */
    bool (*is_used)(int device);
    /* Fills up to `max` rows with the traffic of each kernel launched since configure, if meter_traffic is set.
     * Returns the total number of rows. */
    size_t (*traffic)(cudasim_traffic *rows, size_t max);
} cudasim_control;

#define CUDASIM_CONTROL_VERSION 9u

const cudasim_control *tinyort_cudasim(void);

#ifdef __cplusplus
}
#endif
#endif
