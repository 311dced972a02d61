/* zip.c - two operands that broadcast, by any function of code/functions.h: powers, comparisons, logic, and integers.
 * Sum, Mean, Max and Min take their operands two by two; BitwiseNot, IsNaN and IsInf have one operand, twice. Add and
 * its like of floats, and Clip of floats, are in elements.c. */
#include "kernels/firmware/code/zip.h"
#include "kernels/firmware/firmware.h"
#include "ops/elementwise.h"

/* ---- functions --------------------------------------------------------------------------------------------------- */

typedef float of_floats(float, float);
typedef int64_t of_whole(int64_t, int64_t);

/* Values of tort_kernel.variant. */
enum {
    ADD,
    SUB,
    MUL,
    DIV,
    POW,
    PRELU,
    MOD,
    EQUAL,
    LESS,
    LESS_EQUAL,
    GREATER,
    GREATER_EQUAL,
    AND,
    OR,
    XOR,
    MAX,
    MIN,
    MEAN,
    BIT_AND,
    BIT_OR,
    BIT_XOR,
    BIT_NOT,
    SHIFT,
    IS_NAN,
    IS_INFINITY
};

static const struct {
    const char *floats, *whole; /* NULL: not of such operands */
} functions[] = {[ADD] = {"tinyort_add", "tinyort_whole_add"},
                 [SUB] = {NULL, "tinyort_whole_sub"},
                 [MUL] = {NULL, "tinyort_whole_mul"},
                 [DIV] = {NULL, "tinyort_whole_div"},
                 [POW] = {"tinyort_pow", "tinyort_whole_pow"},
                 [PRELU] = {"tinyort_prelu", NULL},
                 [MOD] = {"tinyort_mod", "tinyort_whole_mod"},
                 [EQUAL] = {"tinyort_equal", "tinyort_whole_equal"},
                 [LESS] = {"tinyort_less", "tinyort_whole_less"},
                 [LESS_EQUAL] = {"tinyort_less_or_equal", "tinyort_whole_less_or_equal"},
                 [GREATER] = {"tinyort_greater", "tinyort_whole_greater"},
                 [GREATER_EQUAL] = {"tinyort_greater_or_equal", "tinyort_whole_greater_or_equal"},
                 [AND] = {NULL, "tinyort_whole_and"},
                 [OR] = {NULL, "tinyort_whole_or"},
                 [XOR] = {NULL, "tinyort_whole_xor"},
                 [MAX] = {"tinyort_max", "tinyort_whole_max"},
                 [MIN] = {"tinyort_min", "tinyort_whole_min"},
                 [MEAN] = {"tinyort_add", NULL},
                 [BIT_AND] = {NULL, "tinyort_whole_bit_and"},
                 [BIT_OR] = {NULL, "tinyort_whole_bit_or"},
                 [BIT_XOR] = {NULL, "tinyort_whole_bit_xor"},
                 [BIT_NOT] = {NULL, "tinyort_whole_bit_not"},
                 [SHIFT] = {NULL, "tinyort_whole_shift_right"},
                 [IS_NAN] = {"tinyort_is_nan", NULL},
                 [IS_INFINITY] = {"tinyort_is_infinity", NULL}};

/* The type of load.h; uint64 counts as int64 but where the order counts. */
static int32_t type_of(int32_t variant, tort_type type) {
    const bool orders = (variant >= LESS && variant <= GREATER_EQUAL) || variant == MAX || variant == MIN;
    if (type == TORT_UINT64) return orders ? 9 : tort_firmware_number_type(TORT_INT64);
    return tort_firmware_number_type(type);
}

/* The name of the function, of operands of this type; NULL: there is none. */
static const char *name_of(int32_t variant, tort_type type, const void *params) {
    const tort_modulo *p = params;
    const bool floats = type == TORT_FLOAT;
    const tort_infinities *infinities = params;
    if (variant == SHIFT && ((const tort_shift *)params)->left && !floats) return "tinyort_whole_shift_left";
    if (type == TORT_UINT64 && variant == DIV) return "tinyort_unsigned_div";
    if (type == TORT_UINT64 && variant == MOD) return "tinyort_unsigned_mod";
    if (type == TORT_UINT64 && variant == SHIFT) return "tinyort_unsigned_shift_right";
    if (variant == MOD && p->c_like) return floats ? "tinyort_fmod" : "tinyort_whole_fmod";
    if (variant == IS_INFINITY && floats && !infinities->positive) return "tinyort_is_negative_infinity";
    if (variant == IS_INFINITY && floats && !infinities->negative) return "tinyort_is_positive_infinity";
    return floats ? functions[variant].floats : functions[variant].whole;
}

static tort_verdict claim_zip(const tort_target *target, const tort_node_view *node) {
    const tort_type type = node->inputs[0].type;
    const int32_t variant = node->kernel->variant;
    (void)target;
    for (int32_t i = 1; i < node->input_count; i++) {
        const tort_type other = node->inputs[i].type;
        if (other != type && other != TORT_UNDEFINED && (variant != POW || type_of(POW, other) < 0))
            return tort_no(TORT_NO_TYPE, "cast it", "input %d is %s, input 0 %s", (int)i, tort_type_name(other),
                           tort_type_name(type));
    }
    if (type_of(variant, type) >= 0 && name_of(variant, type, node->params)) return tort_yes();
    return tort_no(TORT_NO_TYPE, "cast its inputs", "input 0 is %s, firmware has no such function",
                   tort_type_name(type));
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* A power of a whole number by a float is computed in float. */
static tort_status run_one(const tort_call *call, int32_t variant, const tort_tensor *a, const tort_tensor *b) {
    const tort_tensor operands[] = {*a, *b}, *y = &call->outputs[0];
    const tort_loop loop = tort_loop_broadcast(y, operands, 2);
    const bool floats = a->type == TORT_FLOAT || b->type == TORT_FLOAT;
    const int32_t from = type_of(variant, a->type), other = type_of(variant, b->type);
    tinyort_zip_shape shape = {.from = from == TORT_FIRMWARE_BOOL ? 0 : from,
                               .other = other == TORT_FIRMWARE_BOOL ? 0 : other,
                               .to = type_of(variant, y->type)};
    tort_firmware_function *const function =
        tort_firmware_function_of(name_of(variant, floats ? TORT_FLOAT : a->type, call->params));
    of_floats *const f = floats ? (of_floats *)function : NULL;
    of_whole *const g = floats ? NULL : (of_whole *)function;
    tort_firmware_loop(&loop, &shape.rank);
    return TORT_FIRMWARE_CALL(call, tinyort_zip, &shape, a->data, b->data, y->data, f, g);
}

static tort_status run_zip(const tort_call *call) {
    const tort_tensor b = tort_aligned_b(call);
    return run_one(call, call->kernel->variant, &call->inputs[0], &b);
}

/* The function that is the power by a constant exponent; NULL: there is none. */
static const char *power_of(const tort_call *call) {
    static const struct {
        float exponent;
        const char *name;
    } powers[] = {
        {2.0f, "tinyort_square"}, {3.0f, "tinyort_cube"}, {0.5f, "tinyort_root"}, {-1.0f, "tinyort_reciprocal"}};
    const tort_emit *emit = tort_firmware_emit_of(call);
    const tort_tensor *b = &call->inputs[1];
    const bool known = !emit || emit->node->inputs[1].data;
    if (!known || call->inputs[0].type != TORT_FLOAT || tort_count(b) != 1) return NULL;
    if (b->type != TORT_FLOAT && b->type != TORT_INT64) return NULL;
    const float exponent = b->type == TORT_FLOAT ? *(const float *)b->data : (float)*(const int64_t *)b->data;
    for (size_t i = 0; i < sizeof powers / sizeof *powers; i++)
        if (powers[i].exponent == exponent) return powers[i].name;
    return NULL;
}

/* tinyort_pow needs exponentials and logarithms in double, and decides anew for each element. */
static tort_status run_power(const tort_call *call) {
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    const tort_firmware_map m = {power_of(call), false, {0}};
    return m.name ? tort_firmware_run_map(call, &m, tort_count(y), x->data, y->data) : run_zip(call);
}

/* One operand, which stands for both. */
static tort_status run_alone(const tort_call *call) {
    return run_one(call, call->kernel->variant, &call->inputs[0], &call->inputs[0]);
}

static tort_verdict claim_infinity(const tort_target *target, const tort_node_view *node) {
    const tort_infinities *p = node->params;
    if (!p->positive && !p->negative) return tort_no(TORT_NO_ATTR, "replace it by false", "detects no infinity");
    return claim_zip(target, node);
}

/* ---- Sum, Mean, Max, Min, and Clip of integers ------------------------------------------------------------------- */

/* One input is its own maximum. */
static tort_status run_variadic(const tort_call *call) {
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    const tort_firmware_map mean = {"tinyort_scale", true, {(float)call->input_count, 0.0f}};
    tort_status status = call->input_count == 1 ? run_one(call, MAX, x, x) : TORT_OK;
    for (int32_t i = 1; !status && i < call->input_count; i++)
        status = run_one(call, call->kernel->variant, i > 1 ? y : x, &call->inputs[i]);
    if (status || call->kernel->variant != MEAN) return status;
    return tort_firmware_run_map(call, &mean, tort_count(y), y->data, y->data);
}

static tort_status run_clip(const tort_call *call) {
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    const tort_tensor *low = tort_call_input(call, 1), *high = tort_call_input(call, 2);
    const tort_status status = run_one(call, MAX, x, low ? low : x);
    return status || !high ? status : run_one(call, MIN, y, high);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define ROW(op_, kind, variant_)                                                                                       \
    {                                                                                                                  \
        .domain = "", .op = op_, .name = "zip", .claim = claim_zip, .run = run_##kind, .emit = tort_firmware_emit,     \
        .variant = variant_                                                                                            \
    }

const tort_kernel tort_firmware_zip[] = {
    ROW("Add", zip, ADD),
    ROW("Sub", zip, SUB),
    ROW("Mul", zip, MUL),
    ROW("Div", zip, DIV),
    ROW("Pow", power, POW),
    ROW("PRelu", zip, PRELU),
    ROW("Mod", zip, MOD),
    ROW("Equal", zip, EQUAL),
    ROW("Less", zip, LESS),
    ROW("LessOrEqual", zip, LESS_EQUAL),
    ROW("Greater", zip, GREATER),
    ROW("GreaterOrEqual", zip, GREATER_EQUAL),
    ROW("And", zip, AND),
    ROW("Or", zip, OR),
    ROW("Xor", zip, XOR),
    ROW("Sum", variadic, ADD),
    ROW("Mean", variadic, MEAN),
    ROW("Max", variadic, MAX),
    ROW("Min", variadic, MIN),
    ROW("BitwiseAnd", zip, BIT_AND),
    ROW("BitwiseOr", zip, BIT_OR),
    ROW("BitwiseXor", zip, BIT_XOR),
    ROW("BitwiseNot", alone, BIT_NOT),
    ROW("BitShift", zip, SHIFT),
    ROW("IsNaN", alone, IS_NAN),
    ROW("Clip", clip, MIN),
    {"", "IsInf", "zip", .claim = claim_infinity, .run = run_alone, .emit = tort_firmware_emit, .variant = IS_INFINITY},
    {.op = NULL},
};
