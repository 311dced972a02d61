/* fourier.c - DFT and STFT of floats. Their waves are packed, as weights are: a table of constants in place of sines
 * and cosines in each run. Where the run finds the length, it fills the table; such a model cannot be compiled. */
#include "ops/fourier.h"
#include "kernels/firmware/code/dft.h"
#include "kernels/firmware/code/dft_real.h"
#include "kernels/firmware/firmware.h"

#include <math.h>

enum { DFT, STFT }; /* values of tort_kernel.variant */
enum { WINDOW = 2, MAX_LENGTH = 1 << 24 };

static tort_verdict claim_packed(const tort_target *target, const tort_node_view *node) {
    const tort_fourier_params *p = node->params;
    if (p->length < 1) return tort_no(TORT_NO_SHAPE, "", "the run finds the length");
    if (p->length > MAX_LENGTH)
        return tort_no(TORT_NO_SHAPE, "", "the length is %lld, firmware has %d", (long long)p->length, MAX_LENGTH);
    return tort_firmware_claim_first_float(target, node);
}

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    const tort_fourier_params *p = node->params;
    if (p->length > 0) return claim_packed(target, node);
    return tort_firmware_claim_first_float(target, node);
}

/* True for lanes that dft_real.h transforms. */
static bool is_real(const tort_fourier_params *p) {
    return p->in_parts == 1 && p->out_parts == 2 && !p->inverse && p->length % 2 == 0;
}

/* Waves that transforms read: of 4 numbers at a time, three quarters of the circle. */
static int64_t wave_count(int64_t length) {
    return (length & (length - 1)) == 0 && length > 4 ? length / 4 * 3 : length;
}

static tort_status pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                             tort_error *error) {
    const tort_fourier_params *p = node->params;
    (void)target, (void)error;
    *consumed = 0;
    *bytes = (size_t)wave_count(p->length) * 2 * sizeof(float);
    return TORT_OK;
}

static bool alike(const void *params, const void *others) {
    const tort_fourier_params *p = params, *q = others;
    return p->length == q->length;
}

static void fill_waves(int64_t n, float *waves) {
    static const float quarters[][2] = {{1, 0}, {0, -1}, {-1, 0}, {0, 1}};
    for (int64_t k = 0; k < wave_count(n); k++) {
        const double angle = 6.283185307179586 * (double)k / (double)n;
        const bool quarter = 4 * k % n == 0;
        waves[2 * k] = quarter ? quarters[4 * k / n][0] : (float)cos(angle);
        waves[2 * k + 1] = quarter ? quarters[4 * k / n][1] : (float)-sin(angle);
    }
}

static tort_status prepare(tort_prepare *prepare) {
    const tort_fourier_params *p = prepare->node->params;
    fill_waves(p->length, prepare->packed);
    return TORT_OK;
}

static tort_status size(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    const tort_fourier_params *p = node->params;
    const uint64_t lane = is_real(p) ? 2 : 4, table = node->kernel->pack.size ? 0 : 2;
    (void)target;
    if (p->length <= MAX_LENGTH && tort_mul_size((uint64_t)p->length, (lane + table) * sizeof(float), scratch))
        return TORT_OK;
    return tort_fail(error, TORT_E_MEMORY, "a transform of length %lld does not fit in memory", (long long)p->length);
}

static tort_status run(const tort_call *call) {
    const tort_fourier_params *p = call->params;
    const float *window = call->kernel->variant == STFT ? tort_firmware_input(call, WINDOW) : NULL;
    const float *waves = call->packed;
    const tinyort_dft_lanes lanes = {.lanes = (int32_t)(p->outer * p->inner),
                                     .inner = (int32_t)p->inner,
                                     .in_length = (int32_t)p->in_length,
                                     .in_parts = (int32_t)p->in_parts,
                                     .out_length = (int32_t)p->out_length,
                                     .out_parts = (int32_t)p->out_parts,
                                     .length = (int32_t)p->length,
                                     .frames = (int32_t)p->frames,
                                     .frame_step = (int32_t)p->frame_step,
                                     .signal = (int32_t)p->signal_length};
    const tinyort_dft_shape shape = {lanes, p->inverse, p->completes};
    const tinyort_dft_real_shape real = {lanes};
    tort_firmware_array(call, 0, TORT_FLOAT, 0, 2 * (size_t)wave_count(p->length));
    if (!call->kernel->pack.size) {
        float *table = (float *)call->scratch + (is_real(p) ? 2 : 4) * p->length;
        fill_waves(p->length, table);
        waves = table;
    }
    if (is_real(p))
        return TORT_FIRMWARE_CALL(call, tinyort_dft_real, &real, call->inputs[0].data, window, call->outputs[0].data,
                                  call->scratch, waves);
    return TORT_FIRMWARE_CALL_WITH(call, tinyort_dft, &shape,
                                   (call->inputs[0].data, window, call->outputs[0].data, call->scratch, waves),
                                   p->inverse ? (float)p->length : 1.0f);
}

#define ROWS(op_, variant_)                                                                                            \
    {.domain = "",                                                                                                     \
     .op = op_,                                                                                                        \
     .name = "dft",                                                                                                    \
     .claim = claim_packed,                                                                                            \
     .run = run,                                                                                                       \
     .size = size,                                                                                                     \
     .prepare = prepare,                                                                                               \
     .pack = {.size = pack_size, .alike = alike},                                                                      \
     .emit = tort_firmware_emit,                                                                                       \
     .variant = variant_},                                                                                             \
    {                                                                                                                  \
        .domain = "", .op = op_, .name = "dft", .claim = claim, .run = run, .size = size, .variant = variant_          \
    }

const tort_kernel tort_firmware_fourier[] = {ROWS("DFT", DFT), ROWS("STFT", STFT), {.op = NULL}};
