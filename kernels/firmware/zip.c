/* zip.c - two operands that broadcast, by any function of code/functions.h: powers, comparisons, logic, and integers.
 * Sum, Mean, Max and Min take their operands two by two; BitwiseNot, IsNaN and IsInf have one operand, twice. Add and
 * its like of floats are in elements.c. */
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
                 [POW] = {"tinyort_pow", NULL},
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

/* The name of the function, of operands of this type; NULL: there is none. */
static const char *name_of(const tort_kernel *kernel, tort_type type, const void *params) {
    const tort_modulo *p = params;
    const bool floats = type == TORT_FLOAT;
    const tort_infinities *infinities = params;
    if (kernel->variant == MOD && p->c_like) return floats ? "tinyort_fmod" : "tinyort_whole_fmod";
    if (kernel->variant == SHIFT && ((const tort_shift *)params)->left && !floats) return "tinyort_whole_shift_left";
    if (kernel->variant == IS_INFINITY && floats && !infinities->positive) return "tinyort_is_negative_infinity";
    if (kernel->variant == IS_INFINITY && floats && !infinities->negative) return "tinyort_is_positive_infinity";
    return floats ? functions[kernel->variant].floats : functions[kernel->variant].whole;
}

static tort_verdict claim_zip(const tort_target *target, const tort_node_view *node) {
    const tort_type type = node->inputs[0].type;
    (void)target;
    for (int32_t i = 1; i < node->input_count; i++)
        if (node->inputs[i].type != type)
            return tort_no(TORT_NO_TYPE, "cast it", "input %d is %s, input 0 %s", (int)i,
                           tort_type_name(node->inputs[i].type), tort_type_name(type));
    if (tort_firmware_number_type(type) >= 0 && name_of(node->kernel, type, node->params)) return tort_yes();
    return tort_no(TORT_NO_TYPE, "cast its inputs", "input 0 is %s, firmware has no such function",
                   tort_type_name(type));
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static tort_status run_one(const tort_call *call, const tort_tensor *a, const tort_tensor *b) {
    const tort_tensor operands[] = {*a, *b}, *y = &call->outputs[0];
    const tort_loop loop = tort_loop_broadcast(y, operands, 2);
    const int32_t from = tort_firmware_number_type(a->type);
    tinyort_zip_shape shape = {.from = from == TORT_FIRMWARE_BOOL ? 0 : from, .to = tort_firmware_number_type(y->type)};
    tort_firmware_function *const f = tort_firmware_function_of(name_of(call->kernel, a->type, call->params));
    of_floats *const floats = a->type == TORT_FLOAT ? (of_floats *)f : NULL;
    of_whole *const whole = a->type == TORT_FLOAT ? NULL : (of_whole *)f;
    tort_firmware_loop(&loop, &shape.rank);
    return TORT_FIRMWARE_CALL(call, tinyort_zip, &shape, a->data, b->data, y->data, floats, whole);
}

static tort_status run_zip(const tort_call *call) {
    const tort_tensor b = tort_aligned_b(call);
    return run_one(call, &call->inputs[0], &b);
}

/* One operand, which stands for both. */
static tort_status run_alone(const tort_call *call) {
    return run_one(call, &call->inputs[0], &call->inputs[0]);
}

static tort_verdict claim_alone(const tort_target *target, const tort_node_view *node) {
    const tort_infinities *p = node->params;
    if (node->kernel->variant == IS_INFINITY && !p->positive && !p->negative)
        return tort_no(TORT_NO_ATTR, "replace it by false", "detects no infinity");
    return claim_zip(target, node);
}

/* ---- Sum, Mean, Max, Min ----------------------------------------------------------------------------------------- */

static tort_verdict claim_variadic(const tort_target *target, const tort_node_view *node) {
    if (node->input_count < 2) return tort_no(TORT_NO_ATTR, "use Identity", "takes two inputs or more");
    return claim_zip(target, node);
}

static tort_status run_variadic(const tort_call *call) {
    const tort_tensor *y = &call->outputs[0];
    const tort_firmware_map mean = {"tinyort_scale", true, {(float)call->input_count, 0.0f}};
    tort_status status = TORT_OK;
    for (int32_t i = 1; !status && i < call->input_count; i++)
        status = run_one(call, i > 1 ? y : &call->inputs[0], &call->inputs[i]);
    if (status || call->kernel->variant != MEAN) return status;
    return tort_firmware_run_map(call, &mean, tort_count(y), y->data, y->data);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define ROW(op_, kind, variant_)                                                                                       \
    {                                                                                                                  \
        .domain = "", .op = op_, .name = "zip", .claim = claim_##kind, .run = run_##kind, .emit = tort_firmware_emit,  \
        .variant = variant_                                                                                            \
    }

const tort_kernel tort_firmware_zip[] = {
    ROW("Add", zip, ADD),
    ROW("Sub", zip, SUB),
    ROW("Mul", zip, MUL),
    ROW("Div", zip, DIV),
    ROW("Pow", zip, POW),
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
    ROW("IsInf", alone, IS_INFINITY),
    {.op = NULL},
};
