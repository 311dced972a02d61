/* signal.c - rows of HannWindow, HammingWindow, BlackmanWindow and MelWeightMatrix, whose inputs are scalars that the
 * host reads. Kernels: signal.cu. */
#include "kernels/cuda/signal.h"

static tort_verdict claim_mel(const tort_target *target, const tort_node_view *node) {
    const tort_info *y = &node->outputs[0];
    (void)target;
    if (y->rank == 2 && tort_dim_known(y->dims[1]) && y->dims[1] <= GPU_MEL_COLUMNS) return tort_yes();
    return tort_no(TORT_NO_SHAPE, "", "the kernel makes a known number of bins, up to %d", GPU_MEL_COLUMNS);
}

static tort_verdict claim_window(const tort_target *target, const tort_node_view *node) {
    (void)target, (void)node;
    return tort_yes();
}

#ifdef CUDA_DEVICE
static tort_status prepare(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_signal());
}

static tort_status run_window(const tort_call *call) {
    const tort_window *params = call->params;
    const tort_tensor *y = &call->outputs[0];
    const int64_t count = tort_count(y);
    if (!count) return TORT_OK;
    return cuda_launched(call,
                         gpu_run_window(cuda_stream_of(call), gpu_number_of(y->type), tort_window_cosines(call->op),
                                        (double)(params->periodic ? count : count - 1), y->data, (size_t)count));
}

static tort_status run_mel(const tort_call *call) {
    const tort_tensor *y = &call->outputs[0];
    gpu_mel mel = {.rows = y->dims[0], .columns = y->dims[1], .type = gpu_number_of(y->type), .y = y->data};
    tort_mel read;
    int64_t bins[3];
    tort_status status = tort_mel_read(call, &read);
    if (!status && mel.columns > GPU_MEL_COLUMNS) status = tort_fail(call->error, TORT_E_UNSUPPORTED, "too many bins");
    for (int64_t i = 0; !status && i < mel.columns; i++) {
        status = tort_mel_column(call, &read, i, mel.rows, bins);
        for (int k = 0; !status && k < 3; k++) mel.bins[i + k] = (int32_t)bins[k];
    }
    if (status || tort_count(y) == 0) return status;
    return cuda_launched(call, gpu_run_mel(cuda_stream_of(call), &mel));
}
#endif

#define WINDOW(op_)                                                                                                    \
    {                                                                                                                  \
        .domain = "", .op = op_, .name = "window", .host_inputs = 1, .claim = claim_window,                            \
        .prepare = CUDA_ONLY(prepare), .run = CUDA_ONLY(run_window)                                                    \
    }

const tort_kernel tort_cuda_signal_kernels[] = {
    WINDOW("HannWindow"),
    WINDOW("HammingWindow"),
    WINDOW("BlackmanWindow"),
    {"", "MelWeightMatrix", "mel_weights", .host_inputs = 0x1f, .claim = claim_mel, .prepare = CUDA_ONLY(prepare),
     .run = CUDA_ONLY(run_mel)},
    {.op = NULL},
};
