/* pad.c - kernel table of Pad (all modes) and of CenterCropPad, which pads or crops each axis to a given shape. Pads
 * and shapes are read on the host; the pad value stays on the device. Elements are moved by size, whatever their
 * type. Kernel: pad.cu. */
#include "kernels/cuda/pad.h"

#include <string.h>

#include "ops/numeric.h"

#ifdef CUDA_DEVICE
static tort_status prepare_pad(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_pad(cuda_element_bytes(p->node->inputs[0].type)));
}

tort_status tort_cuda_run_pad(const tort_call *call) {
    const tort_pad_params *params = call->params;
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    gpu_pad pad = {.params = *params, .count = (size_t)tort_count(y), .device_value = cuda_input(call, 2)};
    memcpy(pad.in, x->dims, sizeof pad.in);
    memcpy(pad.out, y->dims, sizeof pad.out);
    if (params->value != 0.0f) tort_store_floats(y->type, &pad.value, 0, 1, &params->value);
    return cuda_launched(call, gpu_run_pad(cuda_stream_of(call), cuda_element_bytes(y->type), &pad, x->data, y->data));
}

/* Splits the difference evenly between front and back; the front gets the smaller half. */
static tort_status run_center(const tort_call *call) {
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    gpu_pad pad = {.params = {.mode = TORT_PAD_CONSTANT, .rank = x->rank}, .count = (size_t)tort_count(y)};
    memcpy(pad.in, x->dims, sizeof pad.in);
    memcpy(pad.out, y->dims, sizeof pad.out);
    for (int32_t d = 0; d < x->rank; d++) {
        const int64_t more = y->dims[d] - x->dims[d],
                      before = more / 2; /* division truncates toward zero: -3 crops 1 at the front */
        pad.params.before[d] = before;
        pad.params.after[d] = more - before;
    }
    return cuda_launched(call, gpu_run_pad(cuda_stream_of(call), cuda_element_bytes(y->type), &pad, x->data, y->data));
}
#endif

const tort_kernel tort_cuda_pad_kernels[] = {
    {"", "CenterCropPad", "pad", .host_inputs = 1u << 1, .claim = tort_cuda_claim_movable,
     .prepare = CUDA_ONLY(prepare_pad), .run = CUDA_ONLY(run_center)},
    {"com.microsoft", "Pad", "pad", .host_inputs = 1u << 1, .claim = tort_cuda_claim_movable,
     .prepare = CUDA_ONLY(prepare_pad), .run = CUDA_ONLY(tort_cuda_run_pad)},
    {"", "Pad", "pad", .host_inputs = 1u << 1 | 1u << 3, .claim = tort_cuda_claim_movable,
     .prepare = CUDA_ONLY(prepare_pad), .run = CUDA_ONLY(tort_cuda_run_pad)},
    {.op = NULL},
};
