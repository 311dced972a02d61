/* maps.c - operators that map a function of code/functions.h over a tensor; activations of fused operators. */
#include "kernels/firmware/code/flip.h"
#include "kernels/firmware/code/map.h"
#include "kernels/firmware/code/map_by.h"
#include "kernels/firmware/firmware.h"
#include "ops/activation.h"

/* ---- maps -------------------------------------------------------------------------------------------------------- */

typedef float one(float);
typedef float with_two(float, float, float);

tort_status tort_firmware_run_map(const tort_call *call, const tort_firmware_map *m, int64_t count, const float *x,
                                  float *y) {
    tort_firmware_function *const function = tort_firmware_function_of(m->name);
    one *const f = (one *)function;
    with_two *const by = (with_two *)function;
    const tinyort_map_shape shape = {(int32_t)count};
    const tinyort_map_by_shape shape_by = {(int32_t)count};
    if (!m->by) return TORT_FIRMWARE_CALL(call, tinyort_map, &shape, x, y, f);
    return TORT_FIRMWARE_CALL_WITH(call, tinyort_map_by, &shape_by, (x, y, by), m->numbers[0], m->numbers[1]);
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

tort_status tort_firmware_activate(const tort_call *call, const tort_epilogue *epilogue) {
    const tort_firmware_map m = activation_of(epilogue);
    const tort_tensor *y = &call->outputs[0];
    return m.name ? tort_firmware_run_map(call, &m, tort_count(y), y->data, y->data) : TORT_OK;
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
    X(Sinh, sinh, false)                                                                                               \
    X(Cosh, cosh, false)                                                                                               \
    X(Asinh, asinh, false)                                                                                             \
    X(Acosh, acosh, false)                                                                                             \
    X(Atanh, atanh, false)                                                                                             \
    X(Asin, asin, false)                                                                                               \
    X(Acos, acos, false)                                                                                               \
    X(Atan, atan, false)                                                                                               \
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

static tort_status run_unary(const tort_call *call) {
#define ENTRY(op, function, by) {"tinyort_" #function, by, {0}},
    static const tort_firmware_map maps[] = {MAPS(ENTRY)};
    const tort_activation_params *p = call->params;
    const tort_tensor *y = &call->outputs[0];
    tort_firmware_map m = maps[call->kernel->variant];
    if (m.by) m.numbers[0] = p->alpha, m.numbers[1] = p->beta;
    if (call->kernel->variant == MAP_Gelu && p->tanh) m.name = "tinyort_gelu_tanh";
    return tort_firmware_run_map(call, &m, tort_count(y), call->inputs[0].data, y->data);
}

static tort_status run_flip(const tort_call *call) {
    const tinyort_flip_shape shape = {(int32_t)tort_count(&call->outputs[0])};
    return TORT_FIRMWARE_CALL(call, tinyort_flip, &shape, call->inputs[0].data, call->outputs[0].data);
}

#define ROW(domain_, op_, map_)                                                                                        \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = "map", .claim = tort_firmware_claim_float, .run = run_unary,             \
        .emit = tort_firmware_emit, .variant = map_, .in_place = 1                                                     \
    }
#define MAP_ROW(op, function, by) ROW("", #op, MAP_##op),

const tort_kernel tort_firmware_maps[] = {
    MAPS(MAP_ROW) ROW("com.microsoft", "Gelu", MAP_Gelu),
    ROW("com.microsoft", "QuickGelu", MAP_Swish),
    {"", "Not", "flip", .run = run_flip, .emit = tort_firmware_emit, .in_place = 1},
    {.op = NULL},
};
