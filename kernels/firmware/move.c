/* move.c - operators that only move elements, of any type: as boxes (ops/strided.h) where they are boxes. */
#include "kernels/firmware/code/cast.h"
#include "kernels/firmware/code/cast_real.h"
#include "kernels/firmware/code/fill.h"
#include "kernels/firmware/code/gather.h"
#include "kernels/firmware/code/move.h"
#include "kernels/firmware/code/one_hot.h"
#include "kernels/firmware/code/pad.h"
#include "kernels/firmware/code/trilu.h"
#include "kernels/firmware/code/where.h"
#include "kernels/firmware/firmware.h"
#include "ops/broadcast.h"
#include "ops/cast.h"
#include "ops/constant.h"
#include "ops/dropout.h"
#include "ops/gather.h"
#include "ops/generate.h"
#include "ops/index.h"
#include "ops/numeric.h"
#include "ops/pad.h"
#include "ops/select.h"
#include "ops/strided.h"

enum { AXES = 8 };

static int32_t element_bytes_of(tort_type type) {
    return tort_type_bits(type) / 8;
}

/* Elements of 1, 2, 4 or 8 bytes are moved as they are. */
static tort_verdict claim_type(tort_type type, const char *operand, int32_t i) {
    const int bits = tort_type_bits(type);
    if (type != TORT_STRING && (bits == 8 || bits == 16 || bits == 32 || bits == 64)) return tort_yes();
    return tort_no(TORT_NO_TYPE, "", "%s %d is %s, firmware moves elements of 1, 2, 4 or 8 bytes", operand, (int)i,
                   tort_type_name(type));
}

tort_verdict tort_firmware_claim_bytes(const tort_target *target, const tort_node_view *node) {
    tort_verdict verdict = tort_yes();
    (void)target;
    for (int32_t i = 0; verdict.code == TORT_YES && i < node->input_count; i++)
        if (node->inputs[i].type != TORT_UNDEFINED) verdict = claim_type(node->inputs[i].type, "input", i);
    return verdict;
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

static tort_status move_box(const tort_call *call, tort_type type, void *dst, const void *src, const tort_box *box) {
    tinyort_move_shape shape;
    return shape_of_box(type, box, &shape) ? TORT_FIRMWARE_CALL(call, tinyort_move, &shape, src, dst) : TORT_OK;
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
    return movers[call->kernel->variant](call, move_box);
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

static tort_status run_pad(const tort_call *call) {
    const tort_pad_params *p = call->params;
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    tinyort_pad_shape shape = {
        element_bytes_of(x->type), (int32_t)p->mode, x->rank, (int32_t)tort_count(y), {0}, {0}, {0}};
    for (int32_t i = 0; i < x->rank; i++) {
        shape.in[i] = (int32_t)x->dims[i];
        shape.out[i] = (int32_t)y->dims[i];
        shape.before[i] = (int32_t)p->before[i];
    }
    return TORT_FIRMWARE_CALL_WITH(call, tinyort_pad, &shape, (x->data, tort_firmware_input(call, 2), y->data),
                                   p->value);
}

/* ---- Gather ------------------------------------------------------------------------------------------------------ */

static tort_status run_gather(const tort_call *call) {
    const tort_gather_params *p = call->params;
    const tort_tensor *x = &call->inputs[0], *indices = &call->inputs[1];
    const tinyort_gather_shape shape = {(int32_t)p->outer, (int32_t)p->size,
                                        (int32_t)p->inner * element_bytes_of(x->type), (int32_t)p->index_count,
                                        indices->type == TORT_INT32};
    const tort_status status =
        tort_firmware_emit_of(call) ? TORT_OK : tort_check_indices(call, indices, 0, 1, shape.size);
    if (status) return status;
    return TORT_FIRMWARE_CALL(call, tinyort_gather, &shape, x->data, indices->data, call->outputs[0].data);
}

/* Indices that are first + i * frame + j * step for i of `frames` and j of `length`, as those that cut frames out of
 * audio: boxes, which take no list of indices. 0 1 2 3 2 3 4 5 are two frames of four, frame 2, step 1. */
typedef struct windows {
    int64_t first, frames, frame, length, step;
} windows;

/* Index k along an axis of `size`; -1: it is out of range. */
static int64_t index_of(const tort_info *indices, int64_t k, int64_t size) {
    const tort_tensor tensor = {.type = indices->type, .data = (void *)(uintptr_t)indices->data};
    const int64_t given = tort_index_at(&tensor, k);
    const int64_t index = given < 0 ? given + size : given;
    return index < size && index >= 0 ? index : -1;
}

static bool find_windows(const tort_info *indices, const tort_gather_params *p, windows *w) {
    const int64_t n = p->index_count, first = n > 0 ? index_of(indices, 0, p->size) : -1;
    const int64_t step = n > 1 ? index_of(indices, 1, p->size) - first : 0;
    int64_t length = 1;
    while (length < n && index_of(indices, length, p->size) == first + length * step) length++;
    const int64_t frame = length < n ? index_of(indices, length, p->size) - first : 0;
    *w = (windows){first, n / length, frame, length, step};
    bool found = first >= 0 && n % length == 0;
    for (int64_t k = 0; k < n && found; k++) {
        const int64_t index = index_of(indices, k, p->size);
        found = index >= 0 && index == first + k / length * frame + k % length * step;
    }
    return found;
}

static tort_verdict claim_windows(const tort_target *target, const tort_node_view *node) {
    const tort_gather_params *p = node->params;
    windows w;
    if (!node->inputs[1].data || p->size < 1) return tort_no(TORT_NO_ATTR, "", "takes constant indices");
    if (!find_windows(&node->inputs[1], p, &w))
        return tort_no(TORT_NO_ATTR, "", "takes indices that are equally far apart");
    return tort_firmware_claim_bytes(target, node);
}

static tort_status windows_size(const tort_target *target, const tort_node_view *node, size_t *bytes,
                                uint32_t *consumed, tort_error *error) {
    (void)target, (void)node, (void)error;
    *bytes = sizeof(windows);
    *consumed = 1u << 1;
    return TORT_OK;
}

static tort_status prepare_windows(tort_prepare *prepare) {
    const bool found = find_windows(&prepare->node->inputs[1], prepare->node->params, prepare->packed);
    return found ? TORT_OK : tort_fail(prepare->error, TORT_E_INTERNAL, "indices have changed");
}

static tort_status run_windows(const tort_call *call) {
    const tort_gather_params *p = call->params;
    const windows *w = call->packed;
    const tort_box box = {.rank = 4,
                          .src_first = w->first * p->inner,
                          .dims = {p->outer, w->frames, w->length, p->inner},
                          .src_strides = {p->size * p->inner, w->frame * p->inner, w->step * p->inner, 1},
                          .dst_strides = {p->index_count * p->inner, w->length * p->inner, p->inner, 1}};
    return move_box(call, call->inputs[0].type, call->outputs[0].data, call->inputs[0].data, &box);
}

/* ---- Where ------------------------------------------------------------------------------------------------------- */

static tort_status run_where(const tort_call *call) {
    const tort_tensor *in = call->inputs;
    const tort_loop loop = tort_loop_broadcast(&call->outputs[0], in, 3);
    const int32_t element_bytes = element_bytes_of(call->outputs[0].type);
    tinyort_where_shape shape = {element_bytes, (int32_t)loop.count, loop.rank, {0}, {0}, {0}, {0}};
    for (int32_t i = 0; i < loop.rank; i++) {
        shape.dims[i] = (int32_t)loop.dims[i];
        shape.cs[i] = (int32_t)loop.strides[0][i];
        shape.as[i] = (int32_t)loop.strides[1][i] * element_bytes;
        shape.bs[i] = (int32_t)loop.strides[2][i] * element_bytes;
    }
    return TORT_FIRMWARE_CALL(call, tinyort_where, &shape, in[0].data, in[1].data, in[2].data, call->outputs[0].data);
}

/* ---- Trilu ------------------------------------------------------------------------------------------------------- */

static tort_status run_trilu(const tort_call *call) {
    const tort_trilu_params *p = call->params;
    const tort_tensor *x = &call->inputs[0];
    const int32_t rows = (int32_t)x->dims[x->rank - 2], columns = (int32_t)x->dims[x->rank - 1];
    const int32_t area = rows * columns;
    const tinyort_trilu_shape shape = {element_bytes_of(x->type), area ? (int32_t)tort_count(x) / area : 0, rows,
                                       columns, p->upper};
    return TORT_FIRMWARE_CALL(call, tinyort_trilu, &shape, x->data, tort_firmware_input(call, 1),
                              call->outputs[0].data);
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

/* The same of a type of real.h. */
static int32_t real_type(tort_type type) {
    if (type == TORT_UINT64) return 12;
    return type == TORT_DOUBLE     ? 9
           : type == TORT_FLOAT16  ? 10
           : type == TORT_BFLOAT16 ? 11
                                   : tort_firmware_number_type(type);
}

static tort_verdict claim_cast(const tort_target *target, const tort_node_view *node) {
    const tort_type types[] = {node->inputs[0].type, node->outputs[0].type};
    (void)target;
    for (int32_t i = 0; i < 2; i++)
        if (real_type(types[i]) < 0)
            return tort_no(TORT_NO_TYPE, "export the model in float32",
                           "%s 0 is %s, converts floats and integers of 8 bits and more", i ? "output" : "input",
                           tort_type_name(types[i]));
    return tort_yes();
}

/* Whole numbers keep all of their bits: uint64 counts as int64 among them. */
static tort_status run_cast(const tort_call *call) {
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    const tort_type types[] = {x->type, y->type};
    int32_t own[2], count = (int32_t)tort_count(y);
    bool real = false;
    for (int32_t i = 0; i < 2; i++) {
        const bool whole = types[i] == TORT_UINT64 && !tort_type_is_float(types[1 - i]);
        own[i] = whole ? tort_firmware_number_type(TORT_INT64) : real_type(types[i]);
        real |= own[i] > TORT_FIRMWARE_BOOL;
    }
    if (own[0] == TORT_FIRMWARE_BOOL) own[0] = 0;
    const tinyort_cast_shape shape = {own[0], own[1], count};
    const tinyort_cast_real_shape wide = {own[0], own[1], count};
    return real ? TORT_FIRMWARE_CALL(call, tinyort_cast_real, &wide, x->data, y->data)
                : TORT_FIRMWARE_CALL(call, tinyort_cast, &shape, x->data, y->data);
}

/* ---- BitCast ----------------------------------------------------------------------------------------------------- */

static tort_verdict claim_bit_cast(const tort_target *target, const tort_node_view *node) {
    const tort_verdict verdict = claim_type(node->outputs[0].type, "output", 0);
    return verdict.code == TORT_YES ? tort_firmware_claim_bytes(target, node) : verdict;
}

static tort_status run_bit_cast(const tort_call *call) {
    const tort_tensor *x = &call->inputs[0];
    tort_box box = {0};
    tort_box_add(&box, tort_count(x), 1, 1);
    return move_box(call, x->type, call->outputs[0].data, x->data, &box);
}

/* ---- ConstantOfShape, EyeLike ------------------------------------------------------------------------------------ */

static tort_verdict claim_fill(const tort_target *target, const tort_node_view *node) {
    (void)target;
    return claim_type(node->outputs[0].type, "output", 0);
}

/* `value`: the bytes of an element, in the order of a file. */
static tinyort_fill_shape fill_of(tort_type type, int64_t count, const uint8_t *value) {
    uint64_t bits = 0;
    for (int32_t i = 8; i-- > 0;) bits = bits << 8 | value[i];
    return (tinyort_fill_shape){.element_bytes = element_bytes_of(type),
                                .count = (int32_t)count,
                                .low = (int32_t)(uint32_t)bits,
                                .high = (int32_t)(uint32_t)(bits >> 32)};
}

static tort_status run_fill(const tort_call *call) {
    const tort_fill_params *p = call->params;
    const tort_tensor *y = &call->outputs[0];
    const tinyort_fill_shape shape = fill_of(y->type, tort_count(y), p->value);
    return TORT_FIRMWARE_CALL(call, tinyort_fill, &shape, y->data);
}

/* Zeros, then the diagonal. */
static tort_status run_eye(const tort_call *call) {
    const int64_t k = ((const tort_eye_params *)call->params)->diagonal, one = 1;
    const tort_tensor *y = &call->outputs[0];
    const int64_t columns = y->dims[1], from_row = k < 0 ? k > -y->dims[0] ? -k : y->dims[0] : 0;
    const int64_t from_column = k > 0 ? k < columns ? k : columns : 0;
    const int64_t high = y->dims[0] - from_row, wide = columns - from_column;
    uint8_t value[8] = {0};
    const tinyort_fill_shape zeros = fill_of(y->type, tort_count(y), value);
    tort_store_integers(y->type, value, 0, 1, &one);
    tinyort_fill_shape ones = fill_of(y->type, high < wide ? high : wide, value);
    ones.first = (int32_t)(from_row * columns + from_column);
    ones.gap = (int32_t)columns;
    const tort_status status = TORT_FIRMWARE_CALL(call, tinyort_fill, &zeros, y->data);
    return status ? status : TORT_FIRMWARE_CALL(call, tinyort_fill, &ones, y->data);
}

/* ---- OneHot ------------------------------------------------------------------------------------------------------ */

static tort_verdict claim_one_hot(const tort_target *target, const tort_node_view *node) {
    (void)target;
    if (tort_firmware_number_type(node->inputs[0].type) < 0)
        return tort_no(TORT_NO_TYPE, "cast it to int64", "input 0 is %s, indices are integers of up to 64 bits",
                       tort_type_name(node->inputs[0].type));
    return claim_type(node->inputs[2].type, "input", 2);
}

static tort_status run_one_hot(const tort_call *call) {
    const int32_t axis = ((const tort_one_hot_params *)call->params)->axis;
    const tort_tensor *indices = &call->inputs[0], *y = &call->outputs[0];
    tinyort_one_hot_shape shape = {element_bytes_of(y->type), tort_firmware_number_type(indices->type), 1,
                                   (int32_t)y->dims[axis], 1};
    for (int32_t i = 0; i < y->rank; i++)
        if (i != axis) *(i < axis ? &shape.outer : &shape.inner) *= (int32_t)y->dims[i];
    return TORT_FIRMWARE_CALL(call, tinyort_one_hot, &shape, indices->data, call->inputs[2].data, y->data);
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
static tort_status run_dropout(const tort_call *call) {
    const tort_tensor *x = &call->inputs[0], *mask = tort_call_output(call, 1);
    const tort_type type = mask ? mask->type : TORT_BOOL;
    const tinyort_fill_shape shape = {
        element_bytes_of(type), (int32_t)tort_count(x), type == TORT_FLOAT ? 0x3f800000 : 1, 0, 0, 0};
    tort_box box = {0};
    tort_box_add(&box, tort_count(x), 1, 1);
    const tort_status status = move_box(call, x->type, call->outputs[0].data, x->data, &box);
    return status || !mask ? status : TORT_FIRMWARE_CALL(call, tinyort_fill, &shape, mask->data);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define MOVE(op_, variant_)                                                                                            \
    {                                                                                                                  \
        .domain = "", .op = op_, .name = "move", .claim = claim_move, .run = run_move, .emit = tort_firmware_emit,     \
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
    {"", "Dropout", "move", .claim = claim_dropout, .run = run_dropout, .emit = tort_firmware_emit},
    {"", "Pad", "pad", .claim = claim_pad, .run = run_pad, .emit = tort_firmware_emit},
    {"", "Gather", "move", .claim = claim_windows, .prepare = prepare_windows, .pack = {.size = windows_size},
     .run = run_windows, .emit = tort_firmware_emit},
    {"", "Gather", "gather", .claim = tort_firmware_claim_bytes, .run = run_gather, .emit = tort_firmware_emit},
    {"", "OneHot", "one_hot", .claim = claim_one_hot, .run = run_one_hot, .emit = tort_firmware_emit},
    {"", "EyeLike", "fill", .claim = claim_fill, .run = run_eye, .emit = tort_firmware_emit},
    {"", "Trilu", "trilu", .claim = tort_firmware_claim_bytes, .run = run_trilu, .emit = tort_firmware_emit},
    {"", "Where", "where", .claim = tort_firmware_claim_bytes, .run = run_where, .emit = tort_firmware_emit},
    {"", "Cast", "cast", .claim = claim_cast, .run = run_cast, .emit = tort_firmware_emit},
    {"", "CastLike", "cast", .claim = claim_cast, .run = run_cast, .emit = tort_firmware_emit},
    {"", "BitCast", "move", .claim = claim_bit_cast, .run = run_bit_cast, .emit = tort_firmware_emit},
    {"", "ConstantOfShape", "fill", .claim = claim_fill, .run = run_fill, .emit = tort_firmware_emit},
    {.op = NULL},
};
