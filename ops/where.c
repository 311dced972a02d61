/* where.c - Where: elements of X or Y by a condition, all three broadcast; any type, copied by its size. */
#include "ops/broadcast.h"
#include "ops/shapes.h"

static tort_status infer_where(tort_infer *infer) {
    tort_status status = tort_infer_binary(infer);
    if (status != TORT_OK) return status;
    infer->outputs[0].type = infer->node->inputs[1].type;
    tort_scalar condition[TORT_MAX_ELEMENTS], x[TORT_MAX_ELEMENTS], y[TORT_MAX_ELEMENTS], out[TORT_MAX_ELEMENTS];
    int32_t c_count, x_count, y_count;
    if (!tort_infer_integers(infer, 0, condition, &c_count)) return TORT_OK;
    if (!tort_infer_integers(infer, 1, x, &x_count)) return TORT_OK;
    if (!tort_infer_integers(infer, 2, y, &y_count)) return TORT_OK;
    int32_t count = c_count == 1 ? x_count == 1 ? y_count : x_count : c_count;
    if ((c_count != 1 && c_count != count) || (x_count != 1 && x_count != count) || (y_count != 1 && y_count != count))
        return TORT_OK;
    for (int32_t i = 0; i < count; i++) {
        tort_scalar c = condition[c_count == 1 ? 0 : i], a = x[x_count == 1 ? 0 : i], b = y[y_count == 1 ? 0 : i];
        if (c.symbolic && !tort_scalar_same(a, b)) {
            out[i] = tort_scalar_unknown_of(infer->dims, c, tort_scalar_unknown_of(infer->dims, a, b));
        } else {
            out[i] = c.symbolic || c.value != 0 ? a : b;
        }
    }
    return tort_infer_set_integers(infer, 0, out, count);
}

/* Chooses elements of one size; called with constant steps, so that compilers vectorize the usual cases. */
#define DEFINE(ctype, name)                                                                                            \
    static inline void choose_##name(int64_t count, const uint8_t *c, int64_t c_step, const ctype *x, int64_t x_step,  \
                                     const ctype *y, int64_t y_step, ctype *out) {                                     \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            const ctype yes = x[i * x_step], no = y[i * y_step]; /* read both: no branch */                            \
            out[i] = c[i * c_step] ? yes : no;                                                                         \
        }                                                                                                              \
    }                                                                                                                  \
    static void where_##name(const tort_call *call, const tort_loop *loop, int64_t first, int64_t count,               \
                             const int64_t *offsets) {                                                                 \
        const int64_t *steps = loop->steps;                                                                            \
        const uint8_t *c = (const uint8_t *)call->inputs[0].data + offsets[0];                                         \
        const ctype *x = (const ctype *)call->inputs[1].data + offsets[1];                                             \
        const ctype *y = (const ctype *)call->inputs[2].data + offsets[2];                                             \
        ctype *out = (ctype *)call->outputs[0].data + first;                                                           \
        if (steps[0] == 1 && steps[1] == 1 && steps[2] == 1) {                                                         \
            choose_##name(count, c, 1, x, 1, y, 1, out);                                                               \
        } else if (steps[0] == 1 && steps[1] == 1 && steps[2] == 0) {                                                  \
            choose_##name(count, c, 1, x, 1, y, 0, out);                                                               \
        } else if (steps[0] == 1 && steps[1] == 0 && steps[2] == 1) {                                                  \
            choose_##name(count, c, 1, x, 0, y, 1, out);                                                               \
        } else {                                                                                                       \
            choose_##name(count, c, steps[0], x, steps[1], y, steps[2], out);                                          \
        }                                                                                                              \
    }
DEFINE(uint8_t, bytes1)
DEFINE(uint16_t, bytes2)
DEFINE(uint32_t, bytes4)
DEFINE(uint64_t, bytes8)
DEFINE(tort_bytes16, bytes16)

static void where_row(void *arg, const tort_loop *loop, int64_t first, int64_t count, const int64_t *offsets) {
    const tort_call *call = arg;
    switch (tort_type_bits(call->inputs[1].type)) {
    case 8: where_bytes1(call, loop, first, count, offsets); break;
    case 16: where_bytes2(call, loop, first, count, offsets); break;
    case 32: where_bytes4(call, loop, first, count, offsets); break;
    case 64: where_bytes8(call, loop, first, count, offsets); break;
    default: where_bytes16(call, loop, first, count, offsets); break;
    }
}

static tort_status run_where(const tort_call *call) {
    tort_loop loop = tort_loop_broadcast(&call->outputs[0], call->inputs, 3);
    tort_call copy = *call;
    tort_loop_parallel(call, &loop, 8, where_row, &copy);
    return TORT_OK;
}

const tort_op tort_ops_where[] = {
    {"", "Where", 9, 15, "condition:B X:T Y:T", "output:T", "B=bool T=all", "", .flags = TORT_OP_IN_PLACE,
     .infer = infer_where, .reference = run_where},
    {"", "Where", 16, TORT_NEWEST_OPSET, "condition:B X:T Y:T", "output:T", "B=bool T=all13", "",
     .flags = TORT_OP_IN_PLACE, .infer = infer_where, .reference = run_where},
    {0},
};
