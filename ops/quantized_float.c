/* quantized_float.c - operators of floats between two 8-bit tensors, of the domain `tinyort`: QLinearResize and the
 * normalizations. Each stands for DequantizeLinear, the operator and QuantizeLinear; fuse_quantized.c makes them where
 * a provider computes them in whole numbers.
 *
 * Inputs are X, its scale and zero point, those of Y, then the operator's others. The plain loop is that of the
 * operator itself over floats. Read next: quantized.h. */
#include "ops/microsoft/qlinear.h"
#include "ops/norm.h"
#include "ops/quantized.h"
#include "ops/resize.h"

#include <string.h>

enum { X, X_SCALE, X_ZERO, Y_SCALE, Y_ZERO, FIRST }; /* inputs */
enum { ALIGNMENT = 16 };                             /* of parts of the scratch, in bytes */

extern const tort_op tort_ops_resize[], tort_ops_norm[];

/* The operator of floats in its newest version, by tort_op.variant. */
enum { RESIZE, LAYER_NORM, INSTANCE_NORM };

static const tort_op *float_op(const tort_op *op) {
    static const struct {
        const tort_op *rows;
        const char *name;
    } operators[] = {[RESIZE] = {tort_ops_resize, "Resize"},
                     [LAYER_NORM] = {tort_ops_norm, "LayerNormalization"},
                     [INSTANCE_NORM] = {tort_ops_norm, "InstanceNormalization"}};
    const tort_op *found = NULL;
    for (const tort_op *row = operators[op->variant].rows; row->name; row++)
        if (!strcmp(row->name, operators[op->variant].name)) found = row;
    return found;
}

/* The node as the operator of floats. */
static void view_of(const tort_node_view *node, tort_operands *operands) {
    static const int32_t from[] = {X, FIRST, FIRST + 1, FIRST + 2};
    const int32_t count = node->input_count - FIRST + 1;
    tort_operands_of(node, count < 1 ? 1 : count > 4 ? 4 : count, from, operands);
    operands->view.op = float_op(node->op);
    operands->inputs[0].type = TORT_FLOAT;
}

static tort_status infer(tort_infer *infer) {
    tort_operands operands;
    tort_infer inner = *infer;
    view_of(infer->node, &operands);
    inner.node = &operands.view;
    tort_status status = operands.view.op->infer(&inner);
    infer->outputs[0].type = infer->node->inputs[Y_ZERO].type;
    return status ? status : tort_linear_check(infer, 1u << X_SCALE | 1u << X_ZERO | 1u << Y_SCALE | 1u << Y_ZERO);
}

/* Scratch: X and Y as floats, then that of the operator. */
static tort_status resolve(tort_resolve *resolve) {
    tort_operands operands;
    tort_resolve inner = *resolve;
    size_t floats;
    view_of(resolve->node, &operands);
    inner.node = &operands.view;
    const tort_status status = operands.view.op->resolve(&inner);
    if (status) return status;
    if (tort_operands_scratch(&resolve->node->inputs[X], &resolve->node->outputs[0], &floats) &&
        tort_add_size(floats, 2 * ALIGNMENT, &floats) &&
        tort_add_size(floats, inner.scratch_bytes, &resolve->scratch_bytes))
        return TORT_OK;
    return tort_out_of_memory(resolve->error, SIZE_MAX);
}

static void *behind(void *start, size_t bytes) {
    return (char *)start + (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static tort_status run(const tort_call *call) {
    const tort_tensor *x = &call->inputs[X], *y = &call->outputs[0];
    const tort_linear from = tort_linear_of(call, X_SCALE, X_ZERO), to = tort_linear_of(call, Y_SCALE, Y_ZERO);
    const int64_t count = tort_count(x), results = tort_count(y);
    tort_tensor inputs[TORT_MAX_OPERANDS] = {*x}, output = *y;
    tort_call inner = *call;
    float values[256], *floats = call->scratch, *made = behind(floats, (size_t)count * sizeof *floats);
    tort_linear_values(x->type, from, values);
    for (int64_t i = 0; i < count && tort_row_goes_on(call->watch, i); i++)
        floats[i] = values[((const uint8_t *)x->data)[i]];
    inputs[0].data = floats;
    output.data = made;
    inputs[0].type = output.type = TORT_FLOAT;
    for (int32_t i = FIRST; i < call->input_count; i++) inputs[i - FIRST + 1] = call->inputs[i];
    inner.op = float_op(call->op);
    inner.inputs = inputs;
    inner.outputs = &output;
    inner.input_count = call->input_count < FIRST ? 1 : call->input_count - FIRST + 1;
    inner.scratch = behind(made, (size_t)results * sizeof *made);
    const tort_status status = inner.op->reference(&inner);
    for (int64_t at = 0; !status && at < results && tort_row_goes_on(call->watch, at); at += TORT_PART) {
        const int64_t part = tort_part_count(results, at);
        for (int64_t i = at; i < at + part; i++) made[i] /= to.scale;
        tort_linear_store(y, at, part, made + at, to.zero);
    }
    return status;
}

#define INPUTS "X:T1 x_scale:float x_zero_point:T1 y_scale:float y_zero_point:T2 "
#define ROW(name_, inputs_, types_, attributes_, shapes_, params_, variant_)                                           \
    {                                                                                                                  \
        "tinyort", name_, 1, 1, INPUTS inputs_, "Y:T2", "T1=uint8|int8 T2=uint8|int8" types_, attributes_,             \
            .shape_inputs = shapes_, .variant = variant_, .params_size = sizeof(params_), .infer = infer,              \
            .resolve = resolve, .reference = run                                                                       \
    }
#define NORM(name_, bias_, attributes_, variant_)                                                                      \
    ROW(name_, "Scale:float B" bias_ ":float", "", attributes_, 0, tort_norm_params, variant_)

const tort_op tort_ops_quantized_float[] = {
    ROW("QLinearResize", "roi?:float scales?:float sizes?:int64", "",
        "antialias:int=0 axes:ints coordinate_transformation_mode:string=half_pixel cubic_coeff_a:float=-0.75 "
        "exclude_outside:int=0 extrapolation_value:float=0 keep_aspect_ratio_policy:string=stretch "
        "mode:string=nearest nearest_mode:string=round_prefer_floor",
        1u << FIRST | 1u << (FIRST + 1) | 1u << (FIRST + 2), tort_resize_params, RESIZE),
    NORM("QLinearLayerNormalization", "?", "axis:int=-1 epsilon:float=1e-05 stash_type:int=1", LAYER_NORM),
    NORM("QLinearInstanceNormalization", "", "epsilon:float=1e-05", INSTANCE_NORM),
    {0},
};
