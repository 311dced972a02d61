/* rotary.c - RotaryEmbedding in fp32, of ONNX and of com.microsoft. Read first: ops/rotary.c (the meaning). */
#include "kernels/cpu/cpu.h"
#include "ops/rotary.h"
#include "ops/strided.h"

typedef struct rotary_job {
    const tort_call *call;
    const tort_rotary_params *p;
    const float *x, *cosines, *sines;
    float *y;
} rotary_job;

static void rotate_halves(const float *restrict x, float *restrict y, int64_t half, int64_t count,
                          const float *restrict cosines, const float *restrict sines) {
    for (int64_t i = 0; i < count; i++) {
        const float a = x[i], b = x[half + i];
        y[i] = cosines[i] * a - sines[i] * b;
        y[half + i] = sines[i] * a + cosines[i] * b;
    }
}

static void rotate_pairs(const float *restrict x, float *restrict y, int64_t count, const float *restrict cosines,
                         const float *restrict sines) {
    for (int64_t i = 0; i < count; i++) {
        const float a = x[2 * i], b = x[2 * i + 1];
        y[2 * i] = cosines[i] * a - sines[i] * b;
        y[2 * i + 1] = sines[i] * a + cosines[i] * b;
    }
}

/* Rotates a head. `row`: offset in the caches; `done`: see tort_work_goes_on. False: the run is over. */
static bool rotate_head(const rotary_job *job, const float *x, float *y, int64_t row, int64_t *done) {
    enum { PART = 32768 }; /* pairs of elements at a time */
    const tort_rotary_params *p = job->p;
    const int64_t half = p->rotated / 2;
    for (int64_t i = 0; i < half; i += PART) {
        const int64_t count = half - i < PART ? half - i : PART;
        const float *cosines = job->cosines + row + i, *sines = job->sines + row + i;
        if (!tort_work_goes_on(job->call->watch, done, 2 * count)) return false;
        if (p->interleaved)
            rotate_pairs(x + 2 * i, y + 2 * i, count, cosines, sines);
        else
            rotate_halves(x + i, y + i, half, count, cosines, sines);
    }
    return tort_copy_run(job->call->watch, done, TORT_FLOAT, y, p->rotated, x, p->rotated, p->size - p->rotated);
}

/* Rotates rows; items are (batch, position). */
static void rotate_positions(void *arg, int64_t begin, int64_t end) {
    const rotary_job *job = arg;
    const tort_rotary_params *p = job->p;
    int64_t done = 0;
    for (int64_t item = begin; item < end; item++) {
        const int64_t row = tort_rotary_row(job->call, item) * (p->rotated / 2);
        const int64_t base = item / p->length * p->strides.batch + item % p->length * p->strides.position;
        for (int64_t h = 0; h < p->heads; h++) {
            const float *x = job->x + base + h * p->strides.head;
            float *y = job->y + base + h * p->strides.head;
            if (!rotate_head(job, x, y, row, &done)) return;
        }
    }
}

static tort_status run_rotary(const tort_call *call) {
    const tort_rotary_params *p = call->params;
    const rotary_job job = {.call = call,
                            .p = p,
                            .x = call->inputs[0].data,
                            .cosines = call->inputs[p->cosines].data,
                            .sines = call->inputs[p->sines].data,
                            .y = call->outputs[0].data};
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    const tort_status status = tort_rotary_check(call);
    if (status) return status;
    tort_parallel(call, p->batch * p->length, p->heads * p->size / 4 + 8, rotate_positions, (void *)&job);
    return TORT_OK;
}

const tort_kernel tort_cpu_rotary[] = {
    {"", "RotaryEmbedding", "rotary_rows", .claim = tort_cpu_claim_float, .run = run_rotary},
    {"com.microsoft", "RotaryEmbedding", "rotary_rows", .claim = tort_cpu_claim_float, .run = run_rotary},
    {.op = NULL},
};
