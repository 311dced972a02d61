/* functions.c - the functions of code/functions.h by name; operators that map one of them over a tensor; activations of
 * fused operators. */
#include "kernels/firmware/code/functions.h"
#include "kernels/firmware/code/flip.h"
#include "kernels/firmware/code/map.h"
#include "kernels/firmware/code/map_by.h"
#include "kernels/firmware/firmware.h"
#include "ops/activation.h"

/* ---- by name ----------------------------------------------------------------------------------------------------- */

static const tort_firmware_function functions[] = {
    {"tinyort_polynomial", (void (*)(void))tinyort_polynomial, tort_code_polynomial},
    {"tinyort_exp_reduced", (void (*)(void))tinyort_exp_reduced, tort_code_exp_reduced},
    {"tinyort_exp", (void (*)(void))tinyort_exp, tort_code_exp},
    {"tinyort_exp_below", (void (*)(void))tinyort_exp_below, tort_code_exp_below},
    {"tinyort_log", (void (*)(void))tinyort_log, tort_code_log},
#include "kernels/firmware/functions.inc"
};

enum { COUNT = sizeof functions / sizeof *functions };

static const tort_firmware_function *find(const char *name) {
    for (size_t i = 0; i < COUNT; i++)
        if (!strcmp(functions[i].name, name)) return &functions[i];
    return NULL;
}

void (*tort_firmware_function_of(const char *name))(void) {
    return find(name)->code;
}

void tort_firmware_add_code(tort_emit *emit, const char *text) {
    for (size_t i = 0; i < sizeof emit->code / sizeof *emit->code; i++) {
        if (emit->code[i] == text) return;
        if (emit->code[i]) continue;
        emit->code[i] = text;
        return;
    }
}

/* True if the text calls the function. */
static bool calls(const char *text, const char *name) {
    const size_t length = strlen(name);
    while ((text = strstr(text, name)) && text[length] != '(') text += length;
    return text != NULL;
}

void tort_firmware_need(tort_emit *emit, const char *name) {
    const tort_firmware_function *function = find(name);
    for (size_t i = 0; &functions[i] < function; i++)
        if (calls(function->text, functions[i].name)) tort_firmware_need(emit, functions[i].name);
    tort_firmware_add_code(emit, function->text);
}

/* ---- maps -------------------------------------------------------------------------------------------------------- */

typedef float one(float);
typedef float with_two(float, float, float);

void tort_firmware_run_map(const tort_firmware_map *m, int64_t count, const float *x, float *y) {
    void (*const f)(void) = tort_firmware_function_of(m->name);
    if (m->by)
        tinyort_map_by(&(tinyort_map_by_shape){(int32_t)count}, x, y, (with_two *)f, m->numbers[0], m->numbers[1]);
    else
        tinyort_map(&(tinyort_map_shape){(int32_t)count}, x, y, (one *)f);
}

tort_status tort_firmware_emit_map(tort_emit *emit, const tort_firmware_map *m, int64_t count, const char *x,
                                   const char *y) {
    const int32_t shape = (int32_t)count;
    const char *const operands[] = {x, y, m->name, NULL};
    tort_firmware_need(emit, m->name);
    tort_firmware_add_code(emit, m->by ? tort_code_map_by : tort_code_map);
    return tort_firmware_emit_with(emit,
                                   &(tort_firmware_call){.function = m->by ? "tinyort_map_by" : "tinyort_map",
                                                         .members = "count",
                                                         .shape = &shape,
                                                         .numbers = m->numbers,
                                                         .number_count = m->by ? 2 : 0},
                                   operands);
}

/* ---- activations of fused operators ------------------------------------------------------------------------------ */

static tort_firmware_map activation_of(const tort_epilogue *epilogue) {
    static const struct {
        const char *name;
        bool by;
    } of[TORT_ACTIVATION_COUNT] = {
        [TORT_ACTIVATION_LEAKY_RELU] = {"tinyort_leaky_relu", true},
        [TORT_ACTIVATION_SIGMOID] = {"tinyort_sigmoid", false},
        [TORT_ACTIVATION_SILU] = {"tinyort_swish", true},
        [TORT_ACTIVATION_HARD_SIGMOID] = {"tinyort_hard_sigmoid", true},
        [TORT_ACTIVATION_HARD_SWISH] = {"tinyort_hard_swish", false},
        [TORT_ACTIVATION_GELU] = {"tinyort_gelu", false},
        [TORT_ACTIVATION_GELU_TANH] = {"tinyort_gelu_tanh", false},
        [TORT_ACTIVATION_TANH] = {"tinyort_tanh", false},
        [TORT_ACTIVATION_ELU] = {"tinyort_elu", true},
        [TORT_ACTIVATION_SELU] = {"tinyort_selu", true},
        [TORT_ACTIVATION_CELU] = {"tinyort_celu", true},
        [TORT_ACTIVATION_SOFTPLUS] = {"tinyort_softplus", false},
        [TORT_ACTIVATION_SOFTSIGN] = {"tinyort_softsign", false},
        [TORT_ACTIVATION_THRESHOLDED_RELU] = {"tinyort_thresholded_relu", true},
    };
    tort_firmware_map m = {
        of[epilogue->activation].name, of[epilogue->activation].by, {epilogue->alpha, epilogue->beta}};
    if (epilogue->activation == TORT_ACTIVATION_SILU) m.numbers[0] = 1.0f;
    return m;
}

void tort_firmware_activate(const tort_epilogue *epilogue, float *y, int64_t count) {
    const tort_firmware_map m = activation_of(epilogue);
    if (m.name) tort_firmware_run_map(&m, count, y, y);
}

tort_status tort_firmware_emit_activation(tort_emit *emit, const tort_epilogue *epilogue) {
    const tort_firmware_map m = activation_of(epilogue);
    tort_tensor y;
    if (!m.name) return TORT_OK;
    if (!tort_info_tensor(&emit->node->outputs[0], &y))
        return tort_fail(emit->error, TORT_E_INTERNAL, "a shape is unknown");
    return tort_firmware_emit_map(emit, &m, tort_count(&y), emit->outputs[0], emit->outputs[0]);
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

/* X(operator, function, with two numbers) */
#define MAPS(X)                                                                                                        \
    X(Exp, exp, false)                                                                                                 \
    X(Log, log, false)                                                                                                 \
    X(Tanh, tanh, false)                                                                                               \
    X(Sigmoid, sigmoid, false)                                                                                         \
    X(Erf, erf, false)                                                                                                 \
    X(Softplus, softplus, false)                                                                                       \
    X(Softsign, softsign, false)                                                                                       \
    X(Mish, mish, false)                                                                                               \
    X(Gelu, gelu, false)                                                                                               \
    X(HardSwish, hard_swish, false)                                                                                    \
    X(Neg, neg, false)                                                                                                 \
    X(Abs, abs, false)                                                                                                 \
    X(Reciprocal, reciprocal, false)                                                                                   \
    X(Sqrt, sqrt, false)                                                                                               \
    X(Floor, floor, false)                                                                                             \
    X(Ceil, ceil, false)                                                                                               \
    X(Round, round, false)                                                                                             \
    X(Sign, sign, false)                                                                                               \
    X(Sin, sin, false)                                                                                                 \
    X(Cos, cos, false)                                                                                                 \
    X(Tan, tan, false)                                                                                                 \
    X(HardSigmoid, hard_sigmoid, true)                                                                                 \
    X(LeakyRelu, leaky_relu, true)                                                                                     \
    X(Elu, elu, true)                                                                                                  \
    X(Selu, selu, true)                                                                                                \
    X(Celu, celu, true)                                                                                                \
    X(ThresholdedRelu, thresholded_relu, true)                                                                         \
    X(Swish, swish, true)                                                                                              \
    X(Shrink, shrink, true)

/* Values of tort_kernel.variant. */
#define NUMBER(op, function, by) MAP_##op,
enum { MAPS(NUMBER) };

static tort_firmware_map map_of(const tort_kernel *kernel, const void *params) {
#define ENTRY(op, function, by) {"tinyort_" #function, by, {0}},
    static const tort_firmware_map maps[] = {MAPS(ENTRY)};
    const tort_activation_params *p = params;
    tort_firmware_map m = maps[kernel->variant];
    if (m.by) m.numbers[0] = p->alpha, m.numbers[1] = p->beta;
    if (kernel->variant == MAP_Gelu && p->tanh) m.name = "tinyort_gelu_tanh";
    return m;
}

static tort_status run_unary(const tort_call *call) {
    const tort_firmware_map m = map_of(call->kernel, call->params);
    tort_firmware_run_map(&m, tort_count(&call->outputs[0]), call->inputs[0].data, call->outputs[0].data);
    return TORT_OK;
}

static tort_status emit_unary(tort_emit *emit) {
    const tort_firmware_map m = map_of(emit->node->kernel, emit->node->params);
    tort_tensor y;
    if (!tort_info_tensor(&emit->node->outputs[0], &y))
        return tort_fail(emit->error, TORT_E_INTERNAL, "a shape is unknown");
    return tort_firmware_emit_map(emit, &m, tort_count(&y), emit->inputs[0], emit->outputs[0]);
}

static tort_status run_flip(const tort_call *call) {
    const tinyort_flip_shape shape = {(int32_t)tort_count(&call->outputs[0])};
    tinyort_flip(&shape, call->inputs[0].data, call->outputs[0].data);
    return TORT_OK;
}

static tort_status emit_flip(tort_emit *emit) {
    tort_tensor y;
    if (!tort_info_tensor(&emit->node->outputs[0], &y))
        return tort_fail(emit->error, TORT_E_INTERNAL, "a shape is unknown");
    const tinyort_flip_shape shape = {(int32_t)tort_count(&y)};
    tort_firmware_add_code(emit, tort_code_flip);
    return tort_firmware_emit(emit, &(tort_firmware_call){"tinyort_flip", "count", &shape.count, 1, NULL, 0});
}

#define ROW(domain_, op_, map_)                                                                                        \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = "map", .claim = tort_firmware_claim_float, .run = run_unary,             \
        .emit = emit_unary, .variant = map_, .in_place = 1                                                             \
    }
#define MAP_ROW(op, function, by) ROW("", #op, MAP_##op),

const tort_kernel tort_firmware_maps[] = {
    MAPS(MAP_ROW) ROW("com.microsoft", "Gelu", MAP_Gelu),
    ROW("com.microsoft", "QuickGelu", MAP_Swish),
    {"", "Not", "flip", .run = run_flip, .emit = emit_flip, .in_place = 1},
    {.op = NULL},
};
