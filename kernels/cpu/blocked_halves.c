/* blocked_halves.c - converts float16 and bfloat16 to the layout of blocked.h and back, in strips widened to floats,
 * which represent them exactly. Read next: blocked.c, halves.h. */
#include "kernels/cpu/blocked.h"
#include "kernels/cpu/halves.h"

#define STRIP 128 /* pixels; two buffers of their floats fit the L1 cache */

typedef struct strip_job {
    const tort_simd *simd;
    tort_type type;
    const uint16_t *from;
    uint16_t *to;
    int64_t channels, pixels;
    bool to_plain;
} strip_job;

/* Converts `count` pixels of some channels from plain to blocked. */
static void strip_to_block(const strip_job *job, int32_t channels, int64_t plain, int64_t blocked, int64_t count) {
    float planes[TORT_LANES * STRIP], lanes[TORT_LANES * STRIP + TORT_LANES];
    for (int32_t c = 0; c < channels; c++)
        tort_halves_widen(job->simd, job->type, job->from + plain + c * job->pixels, planes + c * count, count);
    job->simd->to_block(planes, lanes, count, channels);
    tort_halves_narrow(job->simd, job->type, lanes, job->to + blocked, count * TORT_LANES);
}

static void strip_to_plain(const strip_job *job, int32_t channels, int64_t plain, int64_t blocked, int64_t count) {
    float planes[TORT_LANES * STRIP], lanes[TORT_LANES * STRIP];
    tort_halves_widen(job->simd, job->type, job->from + blocked, lanes, count * TORT_LANES);
    job->simd->from_block(lanes, planes, count, channels);
    for (int32_t c = 0; c < channels; c++)
        tort_halves_narrow(job->simd, job->type, planes + c * count, job->to + plain + c * job->pixels, count);
}

/* Converts blocks begin..end of the whole batch. */
static void convert_blocks(void *arg, int64_t begin, int64_t end) {
    const strip_job *job = arg;
    const int64_t blocks = tort_blocks(job->channels);
    for (int64_t i = begin; i < end; i++) {
        const int64_t first = i % blocks * TORT_LANES, left = job->channels - first;
        const int64_t plain = (i / blocks * job->channels + first) * job->pixels,
                      blocked = i * TORT_LANES * job->pixels;
        const int32_t channels = (int32_t)(left < TORT_LANES ? left : TORT_LANES);
        for (int64_t p = 0; p < job->pixels; p += STRIP) {
            const int64_t count = job->pixels - p < STRIP ? job->pixels - p : STRIP;
            (job->to_plain ? strip_to_plain : strip_to_block)(job, channels, plain + p, blocked + p * TORT_LANES,
                                                              count);
        }
    }
}

void tort_blocked_halves(const tort_call *call, int64_t pixels, bool to_plain) {
    const tort_tensor *x = &call->inputs[0];
    strip_job job = {.simd = ((const tort_cpu_device *)call->device)->simd,
                     .type = x->type,
                     .from = x->data,
                     .to = call->outputs[0].data,
                     .channels = x->dims[1],
                     .pixels = pixels,
                     .to_plain = to_plain};
    tort_parallel(call, x->dims[0] * tort_blocks(job.channels), pixels * 8, convert_blocks, &job);
}
