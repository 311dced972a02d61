/* control.h - what a test may ask of the simulated device: which machine it plays, which call fails, what was left
 * over.
 *
 * Reached as `extra` of the plugin that libtinyort-cudasim.so exports (runtime/providers/plugin.h). Settings are those
 * of a whole machine; configure may be called at any time when no kernel runs, and also forgets errors, counts and an
 * armed failure. C and C++. Read next: cudart.h for the API that obeys these settings. */
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
    int device_count;           /* 0 to 2; 0 is also what a program sees whose devices CUDA_VISIBLE_DEVICES hides */
    int driver_version;         /* as cudaDriverGetVersion tells it: 13000 is 13.0, 0 is "no driver" */
    int runtime_version;        /* a driver older than this is cudaErrorInsufficientDriver */
    int capability;             /* 80 for sm_80 */
    size_t memory_bytes;        /* of each device */
    int initialization_error;   /* a cudaError_t that every call which needs a device returns; 0: none */
    bool machine_has_gpu;       /* whatever CUDA shows of it; with device_count 0 it is hidden */
    bool no_kernel_image;       /* the binary has no code for the device */
    bool lazy_streams;          /* work runs only when something waits for it, the youngest stream first */
    int queue_length;           /* the most that a lazy stream holds back: one more, and the oldest runs; 0: no limit */
    cudasim_order order;        /* of blocks, threads and wake-ups */
    unsigned seed;              /* of the random order */
    int cublas_version;         /* installed major version: 13, 12, or 0 for none */
    int cudnn_version;          /* likewise: 9, 8, or 0 */
    bool driver_file;           /* libcuda.so.1 is there, also where driver_version is 0 */
    const char *broken_file;    /* "libcublas.so.13": is there and does not load; NULL: none is broken. Borrowed */
    const char *missing_symbol; /* that neither driver nor library has; NULL: all are there. Borrowed */
    const char *unsupported;    /* a function of a library that answers NOT_SUPPORTED; NULL: none does. Borrowed */
    unsigned unsupported_algorithms; /* bit i: cuDNN offers the forward algorithm i, and refuses to run it */
    bool stop_at_failure;            /* print a kernel's misbehaviour and abort, for a debugger */
    bool meter_traffic;              /* of instrumented kernels (the mode `race`), in place of the search for races */
} cudasim_settings;

/* What launches asked of memory, whatever a cache would have spared. A warp access is one instruction executed by the
 * lanes of a warp together. */
typedef struct cudasim_traffic_counts {
    uint64_t launches;
    uint64_t read_bytes, written_bytes; /* of global memory; an atomic operation counts as a write */
    uint64_t sectors;        /* of 32 bytes, that warp accesses to global memory touched; each once an access */
    uint64_t bank_conflicts; /* passes of warp accesses over the 32 banks of shared memory beyond those they need */
} cudasim_traffic_counts;

typedef struct cudasim_traffic {
    char kernel[128]; /* name and template arguments, perhaps cut off */
    cudasim_traffic_counts counts;
} cudasim_traffic;

typedef struct cudasim_control {
    unsigned version; /* CUDASIM_CONTROL_VERSION */
    /* Two devices of sm_80 with 1 GiB, driver and runtime 13.0, cuBLAS 13, cuDNN 9, eager streams, forward order. */
    cudasim_settings (*defaults)(void);
    void (*configure)(const cudasim_settings *settings);
    /* The nth call from now (1: the next) of the function, or of any function if NULL, fails with this cudaError_t; 0
     * disarms. A code that means a lost device (cudaErrorIllegalAddress, ...LaunchFailure) also loses the device.
     * Library calls report it as a failed allocation. Free and destroy functions do their work all the same. */
    void (*fail_nth)(const char *function, int nth, int code);
    /* The nth kernel launched from now (1: the next) loses the device, with this cudaError_t, when it runs: its launch
     * succeeds where streams are lazy. 0 disarms. */
    void (*fault_nth)(int nth, int code);
    int (*calls)(const char *function); /* since configure; NULL: of all functions */
    /* How many buffers, streams, events, graphs and library objects live; text (may be NULL) lists them by kind. */
    size_t (*leftovers)(char *text, size_t text_size);
    /* What the last kernel or copy did that it must not, and where; "" if none did. Borrowed, until the next failure.
     */
    const char *(*failure)(void);
    /* cudaMallocHost and cudaFreeHost, for a test that is not linked to the API; NULL where it fails. */
    void *(*host_alloc)(size_t bytes);
    void (*host_free)(void *memory);
    /* The calling thread's current device, as an application would choose and ask for it; neither starts CUDA on it. */
    void (*set_device)(int device);
    int (*current_device)(void);
    /* How many kernels' code was loaded by their own first launch since configure, not ahead of it; and as if none had
     * been loaded yet. */
    int (*late_loads)(void);
    void (*unload)(void);
    /* Was CUDA started on the device since configure? */
    bool (*is_used)(int device);
    /* What each kernel launched since configure asked of memory, if meter_traffic is set. Fills as many rows as there
     * are and returns how many there would be. */
    size_t (*traffic)(cudasim_traffic *rows, size_t max);
} cudasim_control;

#define CUDASIM_CONTROL_VERSION 4u

const cudasim_control *tinyort_cudasim(void);

#ifdef __cplusplus
}
#endif
#endif
