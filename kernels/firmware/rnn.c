/* rnn.c - RNN, LSTM and GRU of floats, with functions that have no numbers of their own. Each gate is two dense layers,
 * of x and of h, whose weights are packed, or laid out by the run where they are not constant. */
#include "ops/rnn.h"
#include "kernels/firmware/bytes.h"
#include "kernels/firmware/floats.h"

/* By tort_rnn_function; NULL: not here. */
static const char *const functions[] = {
    [TORT_RNN_RELU] = "tinyort_relu",         [TORT_RNN_TANH] = "tinyort_tanh",
    [TORT_RNN_SIGMOID] = "tinyort_sigmoid",   [TORT_RNN_HARD_SIGMOID] = "tinyort_hard_sigmoid_gate",
    [TORT_RNN_SOFTPLUS] = "tinyort_softplus", [TORT_RNN_SOFTSIGN] = "tinyort_softsign"};

enum { KNOWN = sizeof functions / sizeof *functions };
enum { PACKED, OPEN }; /* values of tort_kernel.variant; OPEN: the weights are operands of the run */

/* The gates' functions, of which RNN has one and GRU two. */
static const char *function_of(const tort_rnn_params *p, int32_t i) {
    const tort_rnn_function function = p->activations[0][i < tort_rnn_functions(p->cell) ? i : 0].function;
    return (size_t)function < KNOWN ? functions[function] : NULL;
}

static tort_verdict claim_rnn(const tort_target *target, const tort_node_view *node) {
    const tort_rnn_params *p = node->params;
    tort_verdict verdict = tort_firmware_claim_first_float(target, node);
    for (int32_t i = 0; i < tort_rnn_functions(p->cell); i++) {
        const tort_rnn_activation *a = &p->activations[0][i], *b = &p->activations[p->directions - 1][i];
        const bool own = a->function == TORT_RNN_HARD_SIGMOID && ((float)a->alpha != 0.2f || (float)a->beta != 0.5f);
        if (!function_of(p, i) || own || a->function != b->function)
            return tort_no(TORT_NO_ATTR, "", "activation %d is not one of both directions without numbers", (int)i);
    }
    if (node->kernel->variant == OPEN) return verdict;
    if (verdict.code == TORT_YES) verdict = tort_firmware_claim_constant(node, TORT_RNN_W, "W");
    if (verdict.code == TORT_YES) verdict = tort_firmware_claim_constant(node, TORT_RNN_R, "R");
    return verdict.code == TORT_YES ? tort_firmware_claim_constant(node, TORT_RNN_B, "B") : verdict;
}

/* Filters of a gate, in eights. */
static int64_t rows_of(int64_t hidden) {
    return (hidden + 7) / 8 * 8;
}

/* The gates whose sums hold R h before a step. */
static int32_t summed(const tort_rnn_params *p) {
    return p->cell == TORT_CELL_GRU ? 2 : p->gates;
}

static tinyort_recurrent_shape shape_of(const tort_rnn_params *p) {
    return (tinyort_recurrent_shape){.length = (int32_t)p->length,
                                     .batch = (int32_t)p->batch,
                                     .input = (int32_t)p->input,
                                     .hidden = (int32_t)p->hidden,
                                     .gates = p->gates,
                                     .summed = summed(p),
                                     .directions = p->directions,
                                     .reverse = p->reverse,
                                     .batch_first = p->batch_first,
                                     .input_forget = p->input_forget,
                                     .linear_before_reset = p->linear_before_reset};
}

/* Where the packed arrays begin, in bytes: W, R, biases, and the end. */
typedef struct layout {
    size_t at[4];
} layout;

/* input, hidden: as in p, whose sizes are not known yet when weights are packed. False: overflow. */
static bool layout_of(const tort_rnn_params *p, int64_t input, int64_t hidden, layout *made) {
    const int64_t rows = rows_of(hidden), depths[] = {input, hidden, 1};
    made->at[0] = 0;
    for (int32_t i = 0; i < 3; i++) {
        size_t bytes;
        const int32_t gates = i == 2 ? 2 * p->gates - summed(p) : p->gates;
        if (!tort_firmware_fours_bytes(p->directions * gates, rows, depths[i], &bytes) ||
            !tort_add_size(made->at[i], bytes, &made->at[i + 1]))
            return false;
    }
    return true;
}

static tort_status size_rnn(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    const tort_rnn_params *p = node->params;
    layout packed = {{0}};
    (void)target;
    *scratch = (size_t)(2 * p->hidden + (1 + p->gates) * rows_of(p->hidden)) * sizeof(float);
    if (node->kernel->variant != OPEN ||
        (layout_of(p, p->input, p->hidden, &packed) && tort_add_size(*scratch, packed.at[3], scratch)))
        return TORT_OK;
    return tort_fail(error, TORT_E_MODEL, "the weights do not fit the memory");
}

static tort_status pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                             tort_error *error) {
    layout to;
    (void)target;
    *consumed = 1u << TORT_RNN_W | 1u << TORT_RNN_R | (tort_has_input(node, TORT_RNN_B) ? 1u << TORT_RNN_B : 0);
    if (!layout_of(node->params, node->inputs[TORT_RNN_W].dims[2], node->inputs[TORT_RNN_R].dims[2], &to))
        return tort_fail(error, TORT_E_MODEL, "the weights do not fit the memory");
    *bytes = to.at[3];
    return TORT_OK;
}

/* Input i, of [directions, gates * hidden, depth]. */
static void pack(const tort_node_view *node, int32_t i, float *to) {
    const tort_rnn_params *p = node->params;
    const int64_t hidden = node->inputs[TORT_RNN_R].dims[2], depth = node->inputs[i].dims[2];
    const float *from = node->inputs[i].data;
    for (int32_t gate = 0; gate < p->directions * p->gates; gate++, from += hidden * depth)
        tort_firmware_pack_fours(from, hidden, depth, depth, 1, to + gate * rows_of(hidden) * depth);
}

/* Packs, for each direction, a row of biases per gate, then the biases of R of the gates behind the summed ones. */
static void pack_biases(const tort_node_view *node, float *to) {
    const tort_rnn_params *p = node->params;
    const int64_t hidden = node->inputs[TORT_RNN_R].dims[2];
    const float *b = node->inputs[TORT_RNN_B].data;
    for (int32_t d = 0; d < p->directions; d++, b += 2 * p->gates * hidden)
        for (int32_t gate = 0; gate < 2 * p->gates - summed(p); gate++, to += rows_of(hidden))
            for (int64_t i = 0; i < hidden; i++) {
                const int64_t at = (gate < p->gates ? gate : gate + summed(p)) * hidden + i;
                to[i] = gate < summed(p) ? b[at] + b[p->gates * hidden + at] : b[at];
            }
}

static tort_status prepare(tort_prepare *prepare) {
    const tort_node_view *node = prepare->node;
    char *packed = prepare->packed;
    layout to = {{0}};
    (void)layout_of(node->params, node->inputs[TORT_RNN_W].dims[2], node->inputs[TORT_RNN_R].dims[2], &to);
    pack(node, TORT_RNN_W, (float *)(packed + to.at[0]));
    pack(node, TORT_RNN_R, (float *)(packed + to.at[1]));
    if (tort_has_input(node, TORT_RNN_B)) pack_biases(node, (float *)(packed + to.at[2]));
    return TORT_OK;
}

static tinyort_function *code_of(const tort_rnn_params *p, int32_t i) {
    return (tinyort_function *)tort_firmware_function_of(function_of(p, i));
}

static tort_status run_rnn(const tort_call *call) {
    static const char *const steps[] = {
        [TORT_CELL_RNN] = "tinyort_rnn", [TORT_CELL_LSTM] = "tinyort_lstm", [TORT_CELL_GRU] = "tinyort_gru"};
    const tort_firmware_floats *form = ((const tort_firmware_bytes *)call->device)->floats;
    tort_emit *emit = tort_firmware_emit_of(call);
    const tort_rnn_params *p = call->params;
    const tinyort_recurrent_open_shape shape = {shape_of(p)};
    const bool open = call->kernel->variant == OPEN;
    layout at = {{0}};
    (void)layout_of(p, p->input, p->hidden, &at);
    const float *x = call->inputs[TORT_RNN_X].data, *weights[3], clip = (float)p->clip;
    const float *h = tort_firmware_input(call, TORT_RNN_INITIAL_H), *c = tort_firmware_input(call, TORT_RNN_INITIAL_C);
    const float *peepholes = tort_firmware_input(call, TORT_RNN_PEEPHOLES);
    const int32_t *lengths = tort_firmware_input(call, TORT_RNN_LENGTHS);
    float *y = tort_firmware_output(call, 0), *last_h = tort_firmware_output(call, 1);
    float *last_c = tort_firmware_output(call, 2);
    tinyort_function *const f = code_of(p, 0), *const g = code_of(p, 1), *const k = code_of(p, 2);
    for (int32_t i = 0; i < 3; i++) {
        weights[i] =
            open ? tort_firmware_input(call, TORT_RNN_W + i) : (const float *)((const char *)call->packed + at.at[i]);
        if (!open) tort_firmware_array(call, i, TORT_FLOAT, at.at[i], (at.at[i + 1] - at.at[i]) / sizeof(float));
    }
    tort_status status = emit ? TORT_OK : tort_rnn_check_lengths(call);
    if (!status && !emit && open)
        form->recurrent_open(&shape, x, weights[0], weights[1], weights[2], lengths, h, c, peepholes, y, last_h, last_c,
                             call->scratch, form->steps[p->cell], f, g, k, clip);
    else if (!status && !emit)
        form->recurrent(&shape.layer, x, weights[0], weights[1], weights[2], lengths, h, c, peepholes, y, last_h,
                        last_c, call->scratch, form->steps[p->cell], f, g, k, clip);
    if (status || !emit) return status;
    status = tort_firmware_print(call, form->step, open ? "tinyort_recurrent_open" : "tinyort_recurrent", &shape,
                                 TORT_FIRMWARE_OPERANDS(x, weights[0], weights[1], weights[2], lengths, h, c, peepholes,
                                                        y, last_h, last_c, call->scratch, steps[p->cell], f, g, k),
                                 TORT_FIRMWARE_NUMBERS(clip));
    return status ? status : tort_firmware_need(emit, steps[p->cell], false);
}

#define ROW(op_)                                                                                                       \
    {                                                                                                                  \
        .domain = "", .op = op_, .name = "recurrent", .claim = claim_rnn, .prepare = prepare,                          \
        .pack = {.size = pack_size}, .run = run_rnn, .size = size_rnn, .emit = tort_firmware_emit                      \
    }

#define OPEN_ROW(op_)                                                                                                  \
    {                                                                                                                  \
        .domain = "", .op = op_, .name = "recurrent_open", .claim = claim_rnn, .run = run_rnn, .size = size_rnn,       \
        .emit = tort_firmware_emit, .variant = OPEN                                                                    \
    }

const tort_kernel tort_firmware_rnn[] = {ROW("RNN"),       ROW("LSTM"),     ROW("GRU"),  OPEN_ROW("RNN"),
                                         OPEN_ROW("LSTM"), OPEN_ROW("GRU"), {.op = NULL}};
