/* fourier.c - DFT and STFT of floats. */
#include "ops/fourier.h"
#include "kernels/firmware/code/dft.h"
#include "kernels/firmware/firmware.h"
#include "ops/extent.h"

enum { DFT, STFT }; /* values of tort_kernel.variant */
enum { WINDOW = 2 };

typedef float of_float(float);

static tort_status size(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    const tort_fourier_params *p = node->params;
    (void)target;
    if (tort_mul_size((uint64_t)p->length, 4 * sizeof(float), scratch)) return TORT_OK;
    return tort_fail(error, TORT_E_MEMORY, "a transform of length %lld does not fit in memory", (long long)p->length);
}

static tort_status run(const tort_call *call) {
    const tort_fourier_params *p = call->params;
    of_float *const cosine = (of_float *)tort_firmware_function_of("tinyort_cos");
    of_float *const sine = (of_float *)tort_firmware_function_of("tinyort_sin");
    const float *window = call->kernel->variant == STFT ? tort_firmware_input(call, WINDOW) : NULL;
    const tinyort_dft_shape shape = {.lanes = (int32_t)(p->outer * p->inner),
                                     .inner = (int32_t)p->inner,
                                     .in_length = (int32_t)p->in_length,
                                     .in_parts = (int32_t)p->in_parts,
                                     .out_length = (int32_t)p->out_length,
                                     .out_parts = (int32_t)p->out_parts,
                                     .length = (int32_t)p->length,
                                     .inverse = p->inverse,
                                     .completes = p->completes,
                                     .frames = (int32_t)p->frames,
                                     .frame_step = (int32_t)p->frame_step,
                                     .signal = (int32_t)p->signal_length};
    return TORT_FIRMWARE_CALL_WITH(call, tinyort_dft, &shape,
                                   (call->inputs[0].data, window, call->outputs[0].data, call->scratch, cosine, sine),
                                   p->inverse ? (float)p->length : 1.0f);
}

#define ROW(op_, variant_)                                                                                             \
    {                                                                                                                  \
        .domain = "", .op = op_, .name = "dft", .claim = tort_firmware_claim_first_float, .run = run, .size = size,    \
        .emit = tort_firmware_emit, .variant = variant_                                                                \
    }

const tort_kernel tort_firmware_fourier[] = {ROW("DFT", DFT), ROW("STFT", STFT), {.op = NULL}};
