/* rnn.c - RNN, LSTM and GRU of floats, with functions that have no numbers of their own. */
#include "ops/rnn.h"
#include "kernels/firmware/code/gru.h"
#include "kernels/firmware/code/lstm.h"
#include "kernels/firmware/code/rnn.h"
#include "kernels/firmware/firmware.h"

#include <stdio.h>

/* By tort_rnn_function; NULL: not here. */
static const char *const functions[] = {
    [TORT_RNN_RELU] = "tinyort_relu",         [TORT_RNN_TANH] = "tinyort_tanh",
    [TORT_RNN_SIGMOID] = "tinyort_sigmoid",   [TORT_RNN_HARD_SIGMOID] = "tinyort_hard_sigmoid_gate",
    [TORT_RNN_SOFTPLUS] = "tinyort_softplus", [TORT_RNN_SOFTSIGN] = "tinyort_softsign"};

enum { KNOWN = sizeof functions / sizeof *functions };

/* The gates' functions, of which RNN has one and GRU two. */
static const char *function_of(const tort_rnn_params *p, int32_t i) {
    const tort_rnn_function function = p->activations[0][i < tort_rnn_functions(p->cell) ? i : 0].function;
    return (size_t)function < KNOWN ? functions[function] : NULL;
}

static tort_verdict claim_rnn(const tort_target *target, const tort_node_view *node) {
    const tort_rnn_params *p = node->params;
    (void)target;
    if (node->inputs[TORT_RNN_X].type != TORT_FLOAT)
        return tort_no(TORT_NO_TYPE, "export the model in float32", "input 0 is %s, firmware computes in float",
                       tort_type_name(node->inputs[TORT_RNN_X].type));
    for (int32_t i = 0; i < tort_rnn_functions(p->cell); i++) {
        const tort_rnn_activation *a = &p->activations[0][i], *b = &p->activations[p->directions - 1][i];
        const bool own = a->function == TORT_RNN_HARD_SIGMOID && ((float)a->alpha != 0.2f || (float)a->beta != 0.5f);
        if (!function_of(p, i) || own || a->function != b->function)
            return tort_no(TORT_NO_ATTR, "", "activation %d is not one of both directions without numbers", (int)i);
    }
    return tort_yes();
}

static tort_status size_rnn(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    const tort_rnn_params *p = node->params;
    (void)target;
    (void)error;
    *scratch = (size_t)p->hidden * (size_t)(2 + 2 * p->gates) * sizeof(float);
    return TORT_OK;
}

static tinyort_recurrent_shape shape_of(const tort_rnn_params *p) {
    return (tinyort_recurrent_shape){.length = (int32_t)p->length,
                                     .batch = (int32_t)p->batch,
                                     .input = (int32_t)p->input,
                                     .hidden = (int32_t)p->hidden,
                                     .gates = p->gates,
                                     .directions = p->directions,
                                     .reverse = p->reverse,
                                     .batch_first = p->batch_first,
                                     .input_forget = p->input_forget,
                                     .linear_before_reset = p->linear_before_reset};
}

#define MEMBERS "length batch input hidden gates directions reverse batch_first input_forget linear_before_reset"

static float *output_of(const tort_call *call, int32_t i) {
    const tort_tensor *tensor = tort_call_output(call, i);
    return tensor ? tensor->data : NULL;
}

typedef float function(float);

static function *code_of(const tort_rnn_params *p, int32_t i) {
    return (function *)tort_firmware_function_of(function_of(p, i));
}

static tort_status run_rnn(const tort_call *call) {
    static void (*const cells[])(const tinyort_recurrent_shape *, const tinyort_cell *) = {
        [TORT_CELL_RNN] = tinyort_rnn, [TORT_CELL_LSTM] = tinyort_lstm, [TORT_CELL_GRU] = tinyort_gru};
    const tort_rnn_params *p = call->params;
    const tinyort_recurrent_shape shape = shape_of(p);
    const tort_tensor *lengths = tort_call_input(call, TORT_RNN_LENGTHS);
    const tort_status status = tort_rnn_check_lengths(call);
    if (status) return status;
    tinyort_recurrent(&shape, call->inputs[TORT_RNN_X].data, call->inputs[TORT_RNN_W].data,
                      call->inputs[TORT_RNN_R].data, tort_firmware_input(call, TORT_RNN_B),
                      lengths ? lengths->data : NULL, tort_firmware_input(call, TORT_RNN_INITIAL_H),
                      tort_firmware_input(call, TORT_RNN_INITIAL_C), tort_firmware_input(call, TORT_RNN_PEEPHOLES),
                      output_of(call, 0), output_of(call, 1), output_of(call, 2), call->scratch, cells[p->cell],
                      code_of(p, 0), code_of(p, 1), code_of(p, 2), (float)p->clip);
    return TORT_OK;
}

static tort_status emit_rnn(tort_emit *emit) {
    static const struct {
        const char *name, *text;
    } cells[] = {[TORT_CELL_RNN] = {"tinyort_rnn", tort_code_rnn},
                 [TORT_CELL_LSTM] = {"tinyort_lstm", tort_code_lstm},
                 [TORT_CELL_GRU] = {"tinyort_gru", tort_code_gru}};
    const tort_rnn_params *p = emit->node->params;
    const tinyort_recurrent_shape shape = shape_of(p);
    const float clip = (float)p->clip;
    const char *operands[20] = {NULL};
    char scratch[64];
    int32_t count = 0;
    while (count <= TORT_RNN_PEEPHOLES) {
        operands[count] = count < emit->node->input_count ? emit->inputs[count] : "NULL";
        count++;
    }
    for (int32_t i = 0; i < 3; i++) operands[count++] = i < emit->node->output_count ? emit->outputs[i] : "NULL";
    snprintf(scratch, sizeof scratch, "(float *)(%s)", emit->scratch);
    operands[count++] = scratch;
    operands[count++] = cells[p->cell].name;
    tort_firmware_add_code(emit, tort_code_dot);
    tort_firmware_add_code(emit, tort_code_recurrent);
    tort_firmware_add_code(emit, tort_code_clamp);
    tort_firmware_add_code(emit, cells[p->cell].text);
    for (int32_t i = 0; i < 3; i++) {
        tort_firmware_need(emit, function_of(p, i));
        operands[count++] = function_of(p, i);
    }
    return tort_firmware_emit_with(emit,
                                   &(tort_firmware_call){.function = "tinyort_recurrent",
                                                         .members = MEMBERS,
                                                         .shape = &shape.length,
                                                         .numbers = &clip,
                                                         .number_count = 1},
                                   operands);
}

#define ROW(op_)                                                                                                       \
    {                                                                                                                  \
        .domain = "", .op = op_, .name = "recurrent", .claim = claim_rnn, .run = run_rnn, .size = size_rnn,            \
        .emit = emit_rnn                                                                                               \
    }

const tort_kernel tort_firmware_rnn[] = {ROW("RNN"), ROW("LSTM"), ROW("GRU"), {.op = NULL}};
