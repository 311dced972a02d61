/* concat_bytes.c - QLinearConcat: parts side by side, each through the table that brings it to the scale of the result.
 * In images whose channels are last, channels of a pixel are side by side. */
#include "kernels/firmware/bytes.h"
#include "kernels/firmware/code/concat_bytes.h"
#include "kernels/firmware/nhwc.h"
#include "ops/microsoft/qlinear.h"
#include "runtime/include/bands.h"

enum { SCALE, ZERO, FIRST = TORT_QLINEAR_PART, GROUP = TORT_QLINEAR_PARTS }; /* inputs */
enum { PLAIN, NHWC };                                                        /* values of tort_kernel.variant */
enum { MAX_PARTS = 10, TABLE = 256 }; /* the parts whose inputs are bits of a mask */
/* Inputs 2, 5, 8 ... 29: the parts. */
#define PARTS 0x24924924u

static int32_t parts_of(const tort_node_view *node) {
    return (node->input_count - FIRST) / GROUP;
}

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    const tort_info *first = &node->inputs[FIRST];
    const int64_t axis = tort_attr_int(node, "axis");
    (void)target;
    if (parts_of(node) > MAX_PARTS)
        return tort_no(TORT_NO_SHAPE, "join some of them first", "it has %d parts, firmware joins up to %d",
                       (int)parts_of(node), MAX_PARTS);
    for (int32_t i = 0; i < node->input_count; i++)
        if ((i < FIRST || (i - FIRST) % GROUP) && !node->inputs[i].constant)
            return tort_no(TORT_NO_DYNAMIC, "make it an initializer", "input %d, a scale or zero point, is computed",
                           (int)i);
    if (node->kernel->variant == PLAIN) return tort_yes();
    if ((first->rank != 3 && first->rank != 4) || (axis < 0 ? axis + first->rank : axis) != 1)
        return tort_no(TORT_NO_ATTR, "", "it does not join channels of images");
    return tort_yes();
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static tort_status pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                             tort_error *error) {
    (void)target, (void)error;
    *bytes = (size_t)parts_of(node) * TABLE;
    *consumed = 0;
    return TORT_OK;
}

static tort_linear linear_of(const tort_node_view *node, int32_t scale) {
    return (tort_linear){(float)tort_firmware_number(node, scale, 0, 1),
                         (float)tort_firmware_number(node, scale + 1, 0, 0)};
}

static tort_status prepare(tort_prepare *prepare) {
    const tort_node_view *node = prepare->node;
    for (int32_t i = 0; i < parts_of(node); i++)
        tort_linear_convert(node->inputs[FIRST].type, linear_of(node, FIRST + i * GROUP + 1), linear_of(node, SCALE),
                            (uint8_t *)prepare->packed + i * TABLE);
    return TORT_OK;
}

/* ---- run -----------------------------------------------------------------------------------------------------------
 */

/* Part `i`, of all rows, or of one row of an image. */
static tinyort_concat_bytes_shape part_of(const tort_tensor *parts, const tort_tensor *y, int32_t i, int32_t variant,
                                          int32_t axis, bool row, const uint8_t *table) {
    const tort_tensor *x = &parts[i * GROUP];
    const int32_t end = variant == NHWC ? axis + 1 : y->rank; /* behind the axis */
    tinyort_concat_bytes_shape s = {.length = (int32_t)tort_extent(x->dims, axis, end),
                                    .pitch = (int32_t)tort_extent(y->dims, axis, end),
                                    .same = 1};
    s.outer = (int32_t)(tort_extent(y->dims, 0, axis) * tort_extent(y->dims, end, y->rank));
    if (row) s.outer = (int32_t)y->dims[3];
    for (int32_t k = 0; k < i; k++) s.at += (int32_t)tort_extent(parts[k * GROUP].dims, axis, end);
    for (int32_t k = 0; k < TABLE; k++) s.same = s.same && table[k] == k;
    return s;
}

static tort_rows rows(const tort_target *target, const tort_node_view *node) {
    const tort_info *y = &node->outputs[0];
    (void)target;
    if (node->kernel->variant == PLAIN || parts_of(node) != 2 || y->rank != 4 || y->dims[0] != 1 || y->dims[2] < 1 ||
        y->dims[2] > INT32_MAX)
        return (tort_rows){0};
    const int32_t height = (int32_t)y->dims[2];
    return (tort_rows){
        .inputs = 1u << FIRST | 1u << (FIRST + GROUP), .in_rows = height, .out_rows = height, .stride = 1, .reach = 1};
}

static tort_status run(const tort_call *call) {
    const tort_qlinear_concat *p = call->params;
    const tort_tensor *parts = &call->inputs[FIRST], *y = &call->outputs[0];
    tort_status status = TORT_OK;
    tort_firmware_array(call, 0, TORT_UINT8, 0, (size_t)(call->input_count - FIRST) / GROUP * TABLE);
    for (int32_t i = 0; !status && FIRST + i * GROUP < call->input_count; i++) {
        const uint8_t *table = (const uint8_t *)call->packed + i * TABLE;
        tinyort_concat_bytes_shape s = part_of(parts, y, i, call->kernel->variant, p->axis, call->band != NULL, table);
        if (call->band) s.outer *= call->band->out_rows;
        status = TORT_FIRMWARE_CALL(call, tinyort_concat_bytes, &s, parts[i * GROUP].data, table, y->data);
    }
    return status;
}

#define ROW(variant_, ...)                                                                                             \
    {                                                                                                                  \
        "com.microsoft", "QLinearConcat", "concat_bytes", .claim = claim, .prepare = prepare,                          \
                                                          .pack = {.size = pack_size}, .rows = rows, .run = run,       \
                                                          .emit = tort_firmware_emit, .variant = variant_, __VA_ARGS__ \
    }

const tort_kernel tort_firmware_concat_bytes[] = {
    ROW(NHWC, .layout = {.id = TORT_FIRMWARE_NHWC, .inputs = PARTS, .outputs = 1}),
    ROW(PLAIN, .in_place = 0),
    {.op = NULL},
};
