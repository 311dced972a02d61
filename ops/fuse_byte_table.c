/* fuse_byte_table.c - fusions that turn a function of one 8-bit tensor into a table of 256 bytes: an activation between
 * DequantizeLinear and QuantizeLinear, and the product of a tensor and such a function of it (a table, QLinearSigmoid
 * or QLinearLeakyRelu), which is how Swish is quantized.
 *
 * The table holds what the operators would compute for each byte; the activation itself is computed in double, so that
 * a number halfway between two bytes may round to the other one. Read next: byte_table.c, fuse_quantized.c. */
#include "ops/epilogue.h"
#include "ops/microsoft/qlinear.h"
#include "ops/numeric.h"
#include "runtime/include/pattern.h"

#include <math.h>
#include <string.h>

enum { BYTES = 256 };

static bool is_byte(const tort_info *info) {
    return info && (info->type == TORT_INT8 || info->type == TORT_UINT8);
}

/* Reads a constant of one number; an absent one is 0. */
static bool read_number(tort_match *match, const char *name, float *number) {
    tort_tensor tensor;
    *number = 0;
    if (!tort_match_info(match, name)) return true;
    if (!tort_match_constant(match, name, &tensor) || tort_count(&tensor) != 1) return false;
    tort_load_floats(tensor.type, tensor.data, 0, 1, number);
    return true;
}

/* Reads a scale, a positive finite float, and a zero point. */
static bool read_linear(tort_match *match, const char *scale, const char *zero, tort_linear *linear) {
    const tort_info *info = tort_match_info(match, scale);
    return info && info->type == TORT_FLOAT && read_number(match, scale, &linear->scale) && linear->scale > 0 &&
           isfinite(linear->scale) && read_number(match, zero, &linear->zero);
}

/* Replaces the value `name` by the table, in the type of y. */
static bool put_table(tort_match *match, const char *name, const uint8_t *table) {
    uint8_t copy[BYTES];
    memcpy(copy, table, sizeof copy);
    const tort_tensor tensor = {.type = tort_match_info(match, "y")->type, .rank = 1, .dims = {BYTES}, .data = copy};
    return tort_match_replace(match, name, &tensor);
}

/* ---- activations ------------------------------------------------------------------------------------------------- */

/* An operator as an activation, and the attributes with its numbers; NULL: it has fewer. */
typedef struct function {
    const char *op;
    tort_activation activation;
    const char *alpha, *beta;
} function;

static const function functions[] = {
    {"Sigmoid", TORT_ACTIVATION_SIGMOID, NULL, NULL},
    {"QLinearSigmoid", TORT_ACTIVATION_SIGMOID, NULL, NULL},
    {"Tanh", TORT_ACTIVATION_TANH, NULL, NULL},
    {"Relu", TORT_ACTIVATION_RELU, NULL, NULL},
    {"LeakyRelu", TORT_ACTIVATION_LEAKY_RELU, "alpha", NULL},
    {"QLinearLeakyRelu", TORT_ACTIVATION_LEAKY_RELU, "alpha", NULL},
    {"Elu", TORT_ACTIVATION_ELU, "alpha", NULL},
    {"HardSigmoid", TORT_ACTIVATION_HARD_SIGMOID, "alpha", "beta"},
    {"HardSwish", TORT_ACTIVATION_HARD_SWISH, NULL, NULL},
    {"Gelu", TORT_ACTIVATION_GELU, NULL, NULL},
    {"Softplus", TORT_ACTIVATION_SOFTPLUS, NULL, NULL},
    {"Softsign", TORT_ACTIVATION_SOFTSIGN, NULL, NULL},
    {NULL, TORT_ACTIVATION_NONE, NULL, NULL},
};

/* Activation of node `c`; none if its operator is not in the list. */
static tort_epilogue activation_of(const tort_match *match) {
    const tort_node_view node = tort_match_node(match, "c");
    const function *f = functions;
    while (f->op && strcmp(f->op, node.op->name) != 0) f++;
    return (tort_epilogue){.activation = f->activation,
                           .alpha = f->alpha ? tort_attr_float(&node, f->alpha) : 0,
                           .beta = f->beta ? tort_attr_float(&node, f->beta) : 0};
}

/* Fills the table with the activation of each byte of x, in the type of `type_of`. */
static bool make_table(tort_match *match, const char *type_of, uint8_t *table) {
    const tort_info *x = tort_match_info(match, "x"), *y = tort_match_info(match, type_of);
    const tort_epilogue epilogue = activation_of(match);
    tort_linear from, to;
    float values[BYTES];
    if (!is_byte(x) || !is_byte(y) || !epilogue.activation || !read_linear(match, "sx", "zx", &from) ||
        !read_linear(match, "sc", "zc", &to))
        return false;
    tort_linear_values(x->type, from, values);
    for (int32_t i = 0; i < BYTES; i++) values[i] = (float)tort_epilogue_activate(&epilogue, (double)values[i]);
    tort_linear_table(y->type, values, to, table);
    return true;
}

static bool build_function(tort_match *match) {
    uint8_t table[BYTES];
    return make_table(match, "y", table) && put_table(match, "sc", table);
}

/* ---- products of x and a function of x --------------------------------------------------------------------------- */

/* Fills a table with x times a function of x, given by `table`. All have one type, as in QLinearMul. */
static bool multiply(tort_match *match, const char *replaced, const uint8_t *table) {
    const tort_info *y = tort_match_info(match, "y");
    tort_linear a, b, c;
    uint8_t bytes[BYTES], out[BYTES];
    float x[BYTES], factors[BYTES];
    if (!read_linear(match, "sa", "za", &a) || !read_linear(match, "sb", "zb", &b) ||
        !read_linear(match, "sy", "zy", &c))
        return false;
    for (int32_t i = 0; i < BYTES; i++) bytes[i] = (uint8_t)i;
    tort_load_floats(y->type, bytes, 0, BYTES, x);
    tort_load_floats(y->type, table, 0, BYTES, factors);
    for (int32_t i = 0; i < BYTES; i++) x[i] = (x[i] - a.zero) * (factors[i] - b.zero) * (a.scale * b.scale / c.scale);
    const tort_tensor made = {.type = y->type, .data = out};
    tort_linear_store(&made, 0, BYTES, x, c.zero);
    return put_table(match, replaced, out);
}

static bool build_product(tort_match *match) {
    tort_tensor table;
    const tort_info *x = tort_match_info(match, "x"), *y = tort_match_info(match, "y");
    if (!is_byte(x) || x->type != y->type || !tort_match_constant(match, "t", &table) || table.type != y->type ||
        tort_count(&table) != BYTES)
        return false;
    return multiply(match, "t", table.data);
}

static bool build_linear_product(tort_match *match) {
    const tort_info *x = tort_match_info(match, "x"), *y = tort_match_info(match, "y");
    uint8_t table[BYTES];
    return is_byte(x) && x->type == y->type && make_table(match, "c", table) && multiply(match, "sc", table);
}

#define FUNCTIONS                                                                                                      \
    "Sigmoid|Tanh|Relu|LeakyRelu|Elu|HardSigmoid|HardSwish|Gelu|com.microsoft::Gelu|Softplus|Softsign{approximate=none}"
#define LINEAR_FUNCTION "~c=com.microsoft::QLinearSigmoid|com.microsoft::QLinearLeakyRelu(x,#sx,#zx?,#sc,#zc?) "
#define PRODUCT "y=com.microsoft::QLinearMul"

const tort_pattern tort_patterns_byte_table[] = {
    {"byte_table",
     "~xd=DequantizeLinear{block_size=0}(x,#sx,#zx?) *c=" FUNCTIONS "(xd) y=QuantizeLinear{block_size=0}(c,#sc,#zc?)",
     "tinyort::ByteTable(x,sc)", build_function},
    {"byte_table", "~c=tinyort::ByteTable(x,#t) *" PRODUCT "(x,#sa,#za?,c,#sb,#zb?,#sy,#zy?)",
     "tinyort::ByteTable(x,t)", build_product},
    {"byte_table", "~c=tinyort::ByteTable(x,#t) *" PRODUCT "(c,#sb,#zb?,x,#sa,#za?,#sy,#zy?)",
     "tinyort::ByteTable(x,t)", build_product},
    {"byte_table", LINEAR_FUNCTION "*" PRODUCT "(x,#sa,#za?,c,#sb,#zb?,#sy,#zy?)", "tinyort::ByteTable(x,sc)",
     build_linear_product},
    {"byte_table", LINEAR_FUNCTION "*" PRODUCT "(c,#sb,#zb?,x,#sa,#za?,#sy,#zy?)", "tinyort::ByteTable(x,sc)",
     build_linear_product},
    {0},
};
