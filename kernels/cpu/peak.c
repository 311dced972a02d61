/* peak.c - measures the peak of this processor: multiply-adds in registers, and copies larger than the caches.
 *
 * Both run on all threads of the session, for a tenth of a second each; the fastest round counts, since anything
 * else running on the machine only slows a round down. Read next: simd/peak.c. */
#include "kernels/cpu/cpu.h"
#include "runtime/core/base/watch.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 1000000, MIN_TRIES = 3 };
#define COPIED_BYTES ((size_t)32 << 20)
#define SECONDS 0.1

typedef struct peak_job {
    const tort_cpu_device *device;
    uint8_t *from, *to; /* COPIED_BYTES each */
} peak_job;

static double now(void) {
    return 1e-9 * (double)tort_now();
}

static void multiply_add(void *arg, int64_t begin, int64_t end) {
    const peak_job *job = arg;
    float sum = 1;
    for (int64_t part = begin; part < end; part++) job->device->simd->multiply_adds(ROUNDS, &sum);
}

static void copy(void *arg, int64_t begin, int64_t end) {
    const peak_job *job = arg;
    int64_t first, last;
    for (int64_t part = begin; part < end; part++) {
        tort_cpu_share((int64_t)COPIED_BYTES, 64, part, job->device->threads, &first, &last);
        memcpy(job->to + first, job->from + first, (size_t)(last - first));
    }
}

/* Returns the seconds of the fastest of as many tries as fit into SECONDS. */
static double fastest(const tort_env *env, peak_job *job, void (*body)(void *arg, int64_t begin, int64_t end)) {
    const double until = now() + SECONDS;
    double best = 1e9, start = now();
    for (int tries = 0; tries < MIN_TRIES || start < until; tries++) {
        env->parallel_for(env->parallel_ud, job->device->threads, 1, body, job);
        const double end = now();
        if (end - start < best) best = end - start;
        start = end;
    }
    return best;
}

void tort_cpu_peak(void *device, const tort_env *env, tort_peak *peak) {
    const tort_cpu_device *cpu = device;
    peak_job job = {.device = cpu, .from = tort_alloc(&cpu->env, 2 * COPIED_BYTES)};
    float sum = 1;
    if (cpu->simd)
        peak->flops = 2 * cpu->threads * cpu->simd->multiply_adds(ROUNDS, &sum) / fastest(env, &job, multiply_add);
    if (!job.from) return;
    memset(job.from, 1, COPIED_BYTES); /* untouched pages would all map to one zero page, which fits the cache */
    job.to = job.from + COPIED_BYTES;
    peak->bytes = 2 * (double)COPIED_BYTES / fastest(env, &job, copy);
    tort_free(&cpu->env, job.from, 2 * COPIED_BYTES);
}
