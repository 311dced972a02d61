/* recurrent.c - kernel table of RNN, LSTM and GRU, with every attribute. Scratch memory holds the products of all
 * inputs with W, and the states between steps. Kernels: recurrent.cu. */
#include "kernels/cuda/recurrent.h"

/* Layout of scratch memory, counted in numbers: products of W, then two states (before and after a step), cell and
 * reset state. */
typedef struct layout {
    size_t products, state, bytes;
} layout;

static bool lay_out(const tort_rnn_params *params, gpu_type type, layout *out) {
    size_t rows, row, states, numbers;
    return tort_mul_size((uint64_t)params->gates, (uint64_t)params->hidden, &row) &&
           tort_mul_size((uint64_t)params->directions, (uint64_t)params->batch, &states) &&
           tort_mul_size(states, (uint64_t)params->length, &rows) && tort_mul_size(rows, row, &out->products) &&
           tort_mul_size(states, (uint64_t)params->hidden, &out->state) && tort_mul_size(4, out->state, &states) &&
           tort_add_size(out->products, states, &numbers) && tort_mul_size(numbers, gpu_type_bytes(type), &out->bytes);
}

static tort_status size_recurrent(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                  tort_error *error) {
    const tort_rnn_params *params = node->params;
    layout memory;
    (void)target;
    if (!lay_out(params, gpu_type_of(node->inputs[0].type), &memory)) return tort_out_of_memory(error, SIZE_MAX);
    *scratch = memory.bytes;
    return TORT_OK;
}

#ifdef CUDA_DEVICE
static tort_status prepare_recurrent(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_recurrent(gpu_type_of(p->node->inputs[0].type)));
}

static tort_status run_recurrent(const tort_call *call) {
    const gpu_type type = gpu_type_of(call->inputs[0].type);
    const void *lengths = cuda_input(call, TORT_RNN_LENGTHS);
    gpu_recurrent recurrent = {.params = *(const tort_rnn_params *)call->params,
                               .node = call->node,
                               .x = call->inputs[TORT_RNN_X].data,
                               .w = call->inputs[TORT_RNN_W].data,
                               .r = call->inputs[TORT_RNN_R].data,
                               .bias = cuda_input(call, TORT_RNN_B),
                               .lengths = lengths,
                               .initial_h = cuda_input(call, TORT_RNN_INITIAL_H),
                               .initial_c = cuda_input(call, TORT_RNN_INITIAL_C),
                               .peepholes = cuda_input(call, TORT_RNN_PEEPHOLES),
                               .y = cuda_output(call, 0),
                               .y_h = cuda_output(call, 1),
                               .y_c = cuda_output(call, 2),
                               .status = lengths ? cuda_status_word(call) : NULL};
    layout memory;
    if (!lay_out(&recurrent.params, type, &memory)) return TORT_E_MEMORY; /* cannot fail: size has checked it */
    const size_t bytes = gpu_type_bytes(type), state = memory.state * bytes;
    char *states = (char *)call->scratch + memory.products * bytes;
    recurrent.products = call->scratch;
    recurrent.states[0] = states;
    recurrent.states[1] = states + state;
    recurrent.cell = states + 2 * state;
    recurrent.reset = states + 3 * state;
    return cuda_launched(call, gpu_run_recurrent(cuda_stream_of(call), type, &recurrent));
}
#endif

const tort_kernel tort_cuda_recurrent_kernels[] = {
    {"", "RNN", "recurrent", .claim = tort_cuda_claim_real, .size = size_recurrent,
     .prepare = CUDA_ONLY(prepare_recurrent), .run = CUDA_ONLY(run_recurrent)},
    {"", "LSTM", "recurrent", .claim = tort_cuda_claim_real, .size = size_recurrent,
     .prepare = CUDA_ONLY(prepare_recurrent), .run = CUDA_ONLY(run_recurrent)},
    {"", "GRU", "recurrent", .claim = tort_cuda_claim_real, .size = size_recurrent,
     .prepare = CUDA_ONLY(prepare_recurrent), .run = CUDA_ONLY(run_recurrent)},
    {.op = NULL},
};
