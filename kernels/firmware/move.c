/* move.c - operators that only move elements, of any type: as boxes (ops/strided.h) where they are boxes. */
#include "kernels/firmware/code/cast.h"
#include "kernels/firmware/code/fill.h"
#include "kernels/firmware/code/gather.h"
#include "kernels/firmware/code/move.h"
#include "kernels/firmware/code/pad.h"
#include "kernels/firmware/code/where.h"
#include "kernels/firmware/firmware.h"
#include "ops/broadcast.h"
#include "ops/cast.h"
#include "ops/constant.h"
#include "ops/dropout.h"
#include "ops/gather.h"
#include "ops/index.h"
#include "ops/pad.h"
#include "ops/strided.h"

enum { AXES = 8 };

static int32_t element_bytes_of(tort_type type) {
    return tort_type_bits(type) / 8;
}

/* ---- boxes ------------------------------------------------------------------------------------------------------- */

/* False: the box is empty, or has too many axes, which the claims exclude. */
static bool shape_of_box(tort_type type, const tort_box *box, tinyort_move_shape *shape) {
    tort_box simple;
    const int32_t element_bytes = element_bytes_of(type);
    if (!tort_box_simplify(box, &simple) || simple.rank > AXES) return false;
    *shape = (tinyort_move_shape){.element_bytes = element_bytes,
                                  .x_first = (int32_t)simple.src_first * element_bytes,
                                  .y_first = (int32_t)simple.dst_first * element_bytes,
                                  .rank = simple.rank};
    for (int32_t i = 0; i < simple.rank; i++) {
        shape->dims[i] = (int32_t)simple.dims[i];
        shape->xs[i] = (int32_t)simple.src_strides[i] * element_bytes;
        shape->ys[i] = (int32_t)simple.dst_strides[i] * element_bytes;
    }
    const int32_t last = simple.rank - 1;
    if (shape->xs[last] != element_bytes || shape->ys[last] != element_bytes) return true;
    shape->element_bytes *= shape->dims[last]; /* a row is one copy */
    shape->dims[last] = 1;
    shape->xs[last] = shape->ys[last] = 0;
    if (last > 0) shape->rank--;
    return true;
}

static tort_status run_box(const tort_call *call, tort_type type, void *dst, const void *src, const tort_box *box) {
    tinyort_move_shape shape;
    (void)call;
    if (shape_of_box(type, box, &shape)) tinyort_move(&shape, src, dst);
    return TORT_OK;
}

static tort_status emit_box(const tort_call *call, tort_type type, void *dst, const void *src, const tort_box *box) {
    tinyort_move_shape shape;
    const char *const operands[] = {src, dst, NULL};
    tort_emit *emit = call->scratch;
    if (!shape_of_box(type, box, &shape)) return TORT_OK;
    tort_firmware_add_code(emit, tort_code_offset);
    tort_firmware_add_code(emit, tort_code_move);
    return tort_firmware_emit_with(
        emit,
        &(tort_firmware_call){.function = "tinyort_move",
                              .members = "element_bytes x_first y_first rank dims[8] xs[8] ys[8]",
                              .shape = &shape.element_bytes},
        operands);
}

typedef tort_status (*mover)(const tort_call *call, tort_box_mover move);

enum { TRANSPOSE, SLICE, CONCAT, SPLIT, EXPAND, TILE, DEPTH_TO_SPACE, SPACE_TO_DEPTH };

static const mover movers[] = {[TRANSPOSE] = tort_move_transpose,
                               [SLICE] = tort_move_slice,
                               [CONCAT] = tort_move_concat,
                               [SPLIT] = tort_move_split,
                               [EXPAND] = tort_move_expand,
                               [TILE] = tort_move_tile,
                               [DEPTH_TO_SPACE] = tort_move_depth_to_space,
                               [SPACE_TO_DEPTH] = tort_move_space_to_depth};

static tort_verdict claim_move(const tort_target *target, const tort_node_view *node) {
    if (node->kernel->variant == TILE && (node->inputs[0].rank < 0 || node->inputs[0].rank > AXES / 2))
        return tort_no(TORT_NO_SHAPE, "reshape its input", "repeats at most %d axes", AXES / 2);
    for (int32_t i = 0; i < node->output_count; i++)
        if (!tort_has_output(node, i)) return tort_no(TORT_NO_ATTR, "", "makes all outputs, %d is absent", (int)i);
    return tort_firmware_claim_bytes(target, node);
}

static tort_status run_move(const tort_call *call) {
    return movers[call->kernel->variant](call, run_box);
}

static tort_status emit_move(tort_emit *emit) {
    tort_firmware_step step;
    const tort_status status = tort_firmware_open(emit, &step);
    return status ? status : tort_firmware_close(&step, movers[emit->node->kernel->variant](&step.call, emit_box));
}

/* ---- Pad --------------------------------------------------------------------------------------------------------- */

static tort_verdict claim_pad(const tort_target *target, const tort_node_view *node) {
    const tort_pad_params *p = node->params;
    if (node->inputs[0].type != TORT_FLOAT && (p->value < 0.0f || p->value > 0.0f))
        return tort_no(TORT_NO_ATTR, "convert the model to opset 11", "attribute value is for float");
    for (int32_t i = 0; i < AXES; i++)
        if (p->before[i] < 0 || p->after[i] < 0) return tort_no(TORT_NO_ATTR, "use Slice", "does not cut");
    return tort_firmware_claim_bytes(target, node);
}

static tinyort_pad_shape pad_of(const tort_call *call) {
    const tort_pad_params *p = call->params;
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    tinyort_pad_shape shape = {
        element_bytes_of(x->type), (int32_t)p->mode, x->rank, (int32_t)tort_count(y), {0}, {0}, {0}};
    for (int32_t i = 0; i < x->rank; i++) {
        shape.in[i] = (int32_t)x->dims[i];
        shape.out[i] = (int32_t)y->dims[i];
        shape.before[i] = (int32_t)p->before[i];
    }
    return shape;
}

static tort_status run_pad(const tort_call *call) {
    const tinyort_pad_shape shape = pad_of(call);
    const tort_pad_params *p = call->params;
    const tort_tensor *value = tort_call_input(call, 2);
    tinyort_pad(&shape, call->inputs[0].data, value ? value->data : NULL, call->outputs[0].data, p->value);
    return TORT_OK;
}

static tort_status emit_pad(tort_emit *emit) {
    tort_firmware_step step;
    tort_status status = tort_firmware_open(emit, &step);
    if (status) return status;
    const tort_pad_params *p = emit->node->params;
    const tinyort_pad_shape shape = pad_of(&step.call);
    const char *const operands[] = {emit->inputs[0], emit->node->input_count > 2 ? emit->inputs[2] : "NULL",
                                    emit->outputs[0], NULL};
    tort_firmware_add_code(emit, tort_code_pad);
    status =
        tort_firmware_emit_with(emit,
                                &(tort_firmware_call){.function = "tinyort_pad",
                                                      .members = "element_bytes mode rank count in[8] out[8] before[8]",
                                                      .shape = &shape.element_bytes,
                                                      .numbers = &p->value,
                                                      .number_count = 1},
                                operands);
    return tort_firmware_close(&step, status);
}

/* ---- Gather ------------------------------------------------------------------------------------------------------ */

static tinyort_gather_shape gather_of(const tort_call *call) {
    const tort_gather_params *p = call->params;
    return (tinyort_gather_shape){(int32_t)p->outer, (int32_t)p->size,
                                  (int32_t)p->inner * element_bytes_of(call->inputs[0].type), (int32_t)p->index_count,
                                  call->inputs[1].type == TORT_INT32};
}

static tort_status run_gather(const tort_call *call) {
    const tinyort_gather_shape shape = gather_of(call);
    const tort_status status = tort_check_indices(call, &call->inputs[1], 0, 1, shape.size);
    if (!status && tort_count(&call->outputs[0]))
        tinyort_gather(&shape, call->inputs[0].data, call->inputs[1].data, call->outputs[0].data);
    return status;
}

static tort_status emit_gather(tort_emit *emit) {
    tort_firmware_step step;
    tort_status status = tort_firmware_open(emit, &step);
    if (status) return status;
    const tinyort_gather_shape shape = gather_of(&step.call);
    tort_firmware_add_code(emit, tort_code_gather);
    status = tort_firmware_emit(
        emit, &(tort_firmware_call){"tinyort_gather", "outer size slice count narrow", &shape.outer, 2, NULL, 0});
    return tort_firmware_close(&step, status);
}

/* ---- Where ------------------------------------------------------------------------------------------------------- */

static tinyort_where_shape where_of(const tort_call *call) {
    const tort_loop loop = tort_loop_broadcast(&call->outputs[0], call->inputs, 3);
    const int32_t element_bytes = element_bytes_of(call->outputs[0].type);
    tinyort_where_shape shape = {element_bytes, (int32_t)loop.count, loop.rank, {0}, {0}, {0}, {0}};
    for (int32_t i = 0; i < loop.rank; i++) {
        shape.dims[i] = (int32_t)loop.dims[i];
        shape.cs[i] = (int32_t)loop.strides[0][i];
        shape.as[i] = (int32_t)loop.strides[1][i] * element_bytes;
        shape.bs[i] = (int32_t)loop.strides[2][i] * element_bytes;
    }
    return shape;
}

static tort_status run_where(const tort_call *call) {
    if (!tort_count(&call->outputs[0])) return TORT_OK;
    const tinyort_where_shape shape = where_of(call);
    tinyort_where(&shape, call->inputs[0].data, call->inputs[1].data, call->inputs[2].data, call->outputs[0].data);
    return TORT_OK;
}

static tort_status emit_where(tort_emit *emit) {
    tort_firmware_step step;
    tort_status status = tort_firmware_open(emit, &step);
    if (status) return status;
    const tinyort_where_shape shape = where_of(&step.call);
    tort_firmware_add_code(emit, tort_code_offset);
    tort_firmware_add_code(emit, tort_code_where);
    status = tort_firmware_emit(emit, &(tort_firmware_call){"tinyort_where",
                                                            "element_bytes count rank dims[8] cs[8] as[8] bs[8]",
                                                            &shape.element_bytes, 3, NULL, 0});
    return tort_firmware_close(&step, status);
}

/* ---- Cast -------------------------------------------------------------------------------------------------------- */

int32_t tort_firmware_number_type(tort_type type) {
    switch (type) {
    case TORT_BOOL: return TORT_FIRMWARE_BOOL;
    case TORT_UINT8: return 0;
    case TORT_INT8: return 1;
    case TORT_UINT16: return 2;
    case TORT_INT16: return 3;
    case TORT_UINT32: return 4;
    case TORT_INT32: return 5;
    case TORT_INT64: return 6;
    case TORT_FLOAT: return TORT_FIRMWARE_FLOAT;
    default: return -1;
    }
}

static tort_verdict claim_cast(const tort_target *target, const tort_node_view *node) {
    const tort_type types[] = {node->inputs[0].type, node->outputs[0].type};
    (void)target;
    for (int32_t i = 0; i < 2; i++)
        if (tort_firmware_number_type(types[i]) < 0)
            return tort_no(TORT_NO_TYPE, "export the model in float32", "%s 0 is %s, converts float and integers",
                           i ? "output" : "input", tort_type_name(types[i]));
    return tort_yes();
}

static tinyort_cast_shape cast_of(const tort_call *call) {
    const int32_t from = tort_firmware_number_type(call->inputs[0].type);
    return (tinyort_cast_shape){from == TORT_FIRMWARE_BOOL ? 0 : from, tort_firmware_number_type(call->outputs[0].type),
                                (int32_t)tort_count(&call->outputs[0])};
}

static tort_status run_cast(const tort_call *call) {
    const tinyort_cast_shape shape = cast_of(call);
    tinyort_cast(&shape, call->inputs[0].data, call->outputs[0].data);
    return TORT_OK;
}

static tort_status emit_cast(tort_emit *emit) {
    tort_firmware_step step;
    tort_status status = tort_firmware_open(emit, &step);
    if (status) return status;
    const tinyort_cast_shape shape = cast_of(&step.call);
    tort_firmware_add_code(emit, tort_code_load);
    tort_firmware_add_code(emit, tort_code_store);
    tort_firmware_add_code(emit, tort_code_cast);
    status = tort_firmware_emit(emit, &(tort_firmware_call){"tinyort_cast", "from to count", &shape.from, 1, NULL, 0});
    return tort_firmware_close(&step, status);
}

/* ---- ConstantOfShape --------------------------------------------------------------------------------------------- */

static tort_verdict claim_fill(const tort_target *target, const tort_node_view *node) {
    const int bits = tort_type_bits(node->outputs[0].type);
    (void)target;
    if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
        return tort_no(TORT_NO_TYPE, "", "output 0 is %s, firmware fills elements of 1, 2, 4 or 8 bytes",
                       tort_type_name(node->outputs[0].type));
    return tort_yes();
}

static tinyort_fill_shape fill_of(const tort_call *call) {
    const tort_fill_params *p = call->params;
    uint64_t bits = 0;
    for (int32_t i = 8; i-- > 0;) bits = bits << 8 | p->value[i]; /* the order of a file's bytes */
    return (tinyort_fill_shape){element_bytes_of(call->outputs[0].type), (int32_t)tort_count(&call->outputs[0]),
                                (int32_t)(uint32_t)bits, (int32_t)(uint32_t)(bits >> 32)};
}

static tort_status print_fill(tort_emit *emit, const tinyort_fill_shape *shape, const char *y) {
    tort_firmware_add_code(emit, tort_code_fill);
    return tort_firmware_emit_with(emit,
                                   &(tort_firmware_call){.function = "tinyort_fill",
                                                         .members = "element_bytes count low high",
                                                         .shape = &shape->element_bytes},
                                   (const char *const[]){y, NULL});
}

static tort_status run_fill(const tort_call *call) {
    const tinyort_fill_shape shape = fill_of(call);
    tinyort_fill(&shape, call->outputs[0].data);
    return TORT_OK;
}

static tort_status emit_fill(tort_emit *emit) {
    tort_firmware_step step;
    const tort_status status = tort_firmware_open(emit, &step);
    if (status) return status;
    const tinyort_fill_shape shape = fill_of(&step.call);
    return tort_firmware_close(&step, print_fill(emit, &shape, emit->outputs[0]));
}

/* ---- Dropout ----------------------------------------------------------------------------------------------------- */

static tort_verdict claim_dropout(const tort_target *target, const tort_node_view *node) {
    const tort_dropout_params *p = node->params;
    const tort_type mask = tort_has_output(node, 1) ? node->outputs[1].type : TORT_BOOL;
    if (p->is_training || (p->by_inputs && tort_has_input(node, 2)))
        return tort_no(TORT_NO_ATTR, "export the model for inference", "is for inference");
    if (mask != TORT_BOOL && mask != TORT_FLOAT)
        return tort_no(TORT_NO_TYPE, "", "output 1 is %s, firmware makes bool and float", tort_type_name(mask));
    return tort_firmware_claim_bytes(target, node);
}

/* Outside training it copies, and the mask is 1. */
static tort_status drop(const tort_call *call, tort_box_mover move, tinyort_fill_shape *mask) {
    const tort_tensor *made = tort_call_output(call, 1);
    const tort_type type = made ? made->type : TORT_BOOL;
    const int64_t count = tort_count(&call->inputs[0]);
    tort_box box = {0};
    tort_box_add(&box, count, 1, 1);
    *mask = (tinyort_fill_shape){element_bytes_of(type), (int32_t)count, type == TORT_FLOAT ? 0x3f800000 : 1, 0};
    return move(call, call->inputs[0].type, call->outputs[0].data, call->inputs[0].data, &box);
}

static tort_status run_dropout(const tort_call *call) {
    tinyort_fill_shape mask;
    const tort_status status = drop(call, run_box, &mask);
    if (tort_call_output(call, 1)) tinyort_fill(&mask, call->outputs[1].data);
    return status;
}

static tort_status emit_dropout(tort_emit *emit) {
    tort_firmware_step step;
    tinyort_fill_shape mask;
    tort_status status = tort_firmware_open(emit, &step);
    if (status) return status;
    status = drop(&step.call, emit_box, &mask);
    if (!status && tort_has_output(emit->node, 1)) status = print_fill(emit, &mask, emit->outputs[1]);
    return tort_firmware_close(&step, status);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define MOVE(op_, variant_)                                                                                            \
    {                                                                                                                  \
        .domain = "", .op = op_, .name = "move", .claim = claim_move, .run = run_move, .emit = emit_move,              \
        .variant = variant_                                                                                            \
    }

const tort_kernel tort_firmware_move[] = {
    MOVE("Transpose", TRANSPOSE),
    MOVE("Slice", SLICE),
    MOVE("Concat", CONCAT),
    MOVE("Split", SPLIT),
    MOVE("Expand", EXPAND),
    MOVE("Tile", TILE),
    MOVE("DepthToSpace", DEPTH_TO_SPACE),
    MOVE("SpaceToDepth", SPACE_TO_DEPTH),
    {"", "Dropout", "move", .claim = claim_dropout, .run = run_dropout, .emit = emit_dropout},
    {"", "Pad", "pad", .claim = claim_pad, .run = run_pad, .emit = emit_pad},
    {"", "Gather", "gather", .claim = tort_firmware_claim_bytes, .run = run_gather, .emit = emit_gather},
    {"", "Where", "where", .claim = tort_firmware_claim_bytes, .run = run_where, .emit = emit_where},
    {"", "Cast", "cast", .claim = claim_cast, .run = run_cast, .emit = emit_cast},
    {"", "ConstantOfShape", "fill", .claim = claim_fill, .run = run_fill, .emit = emit_fill},
    {.op = NULL},
};
