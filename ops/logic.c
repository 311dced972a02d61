/* logic.c - And, Or and Xor of bools, BitwiseAnd, BitwiseOr, BitwiseXor and BitShift of integers, with broadcasting. */
#include "ops/elementwise.h"

#include <string.h>

TORT_PAIR_LOOP(and_bool, uint8_t, bool, void, (a != 0) & (b != 0))
TORT_PAIR_LOOP(or_bool, uint8_t, bool, void, (a != 0) | (b != 0))
TORT_PAIR_LOOP(xor_bool, uint8_t, bool, void, (a != 0) != (b != 0))

/* A shift by the width or more, or by a negative number, leaves fill bits only: copies of the sign for a signed shift
 * to the right, else 0. Left shifts are unsigned, since shifting a bit into or out of the sign is undefined. */
#define BITS(ctype) (int)(8 * sizeof(ctype))
#define DEFINE(enumerator, ctype, type)                                                                                \
    TORT_PAIR_LOOP(bitwise_and_##type, ctype, ctype, void, a &b)                                                       \
    TORT_PAIR_LOOP(bitwise_or_##type, ctype, ctype, void, a | b)                                                       \
    TORT_PAIR_LOOP(bitwise_xor_##type, ctype, ctype, void, a ^ b)                                                      \
    TORT_PAIR_LOOP(left_##type, ctype, ctype, void, (uint64_t)b < BITS(ctype) ? (uint64_t)a << (uint64_t)b : 0)
TORT_FOR_UNSIGNED(DEFINE)
#undef DEFINE
#define DEFINE(enumerator, ctype, type)                                                                                \
    TORT_PAIR_LOOP(right_##type, ctype, ctype, void, a >> ((uint64_t)b < BITS(ctype) ? (int)b : BITS(ctype) - 1))
TORT_FOR_SIGNED(DEFINE)
#undef DEFINE
#define DEFINE(enumerator, ctype, type)                                                                                \
    TORT_PAIR_LOOP(right_##type, ctype, ctype, void, (uint64_t)b < BITS(ctype) ? a >> (int)b : 0)
TORT_FOR_UNSIGNED(DEFINE)
#undef DEFINE

#define RIGHT(enumerator, ctype, type) [enumerator] = right_##type,

/* Values of tort_op.variant. */
enum { PAIR_AND, PAIR_OR, PAIR_XOR, PAIR_BITWISE_AND, PAIR_BITWISE_OR, PAIR_BITWISE_XOR };

static const tort_pair pairs[] = {[PAIR_AND] = {.loops = {[TORT_BOOL] = and_bool}, .work = 6},
                                  [PAIR_OR] = {.loops = {[TORT_BOOL] = or_bool}, .work = 6},
                                  [PAIR_XOR] = {.loops = {[TORT_BOOL] = xor_bool}, .work = 6},
                                  [PAIR_BITWISE_AND] = {.loops = {TORT_BOTH_SIGNS(bitwise_and)}, .work = 6},
                                  [PAIR_BITWISE_OR] = {.loops = {TORT_BOTH_SIGNS(bitwise_or)}, .work = 6},
                                  [PAIR_BITWISE_XOR] = {.loops = {TORT_BOTH_SIGNS(bitwise_xor)}, .work = 6}};

static tort_status run_pair(const tort_call *call) {
    return tort_run_pair(call, &pairs[call->op->variant]);
}

/* ---- BitShift ---------------------------------------------------------------------------------------------------- */

static tort_status resolve_shift(tort_resolve *resolve) {
    tort_shift *params = resolve->params;
    const char *direction = tort_attr_string(resolve->node, "direction");
    params->left = strcmp(direction, "LEFT") == 0;
    if (params->left || strcmp(direction, "RIGHT") == 0) return TORT_OK;
    return tort_fail(resolve->error, TORT_E_MODEL, "direction is \"%s\", expected \"LEFT\" or \"RIGHT\"", direction);
}

static tort_status run_shift(const tort_call *call) {
    static const tort_pair left = {.loops = {TORT_BOTH_SIGNS(left)}, .work = 6},
                           right = {.loops = {TORT_FOR_INTEGERS(RIGHT)}, .work = 6};
    const tort_shift *params = call->params;
    return tort_run_pair(call, params->left ? &left : &right);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

const tort_op tort_ops_logic[] = {
    {"", "And", 1, 6, "A:T B:T", "C:T1", "T=bool T1=bool", "axis:int broadcast:int=0", .flags = TORT_OP_IN_PLACE,
     .variant = PAIR_AND, .params_size = sizeof(tort_binary), .infer = tort_infer_compare_old,
     .resolve = tort_resolve_binary, .reference = run_pair},
    {"", "And", 7, TORT_NEWEST_OPSET, "A:T B:T", "C:T1", "T=bool T1=bool", "", .flags = TORT_OP_IN_PLACE,
     .variant = PAIR_AND, .params_size = sizeof(tort_binary), .infer = tort_infer_compare,
     .resolve = tort_resolve_binary, .reference = run_pair},
    {"", "Or", 1, 6, "A:T B:T", "C:T1", "T=bool T1=bool", "axis:int broadcast:int=0", .flags = TORT_OP_IN_PLACE,
     .variant = PAIR_OR, .params_size = sizeof(tort_binary), .infer = tort_infer_compare_old,
     .resolve = tort_resolve_binary, .reference = run_pair},
    {"", "Or", 7, TORT_NEWEST_OPSET, "A:T B:T", "C:T1", "T=bool T1=bool", "", .flags = TORT_OP_IN_PLACE,
     .variant = PAIR_OR, .params_size = sizeof(tort_binary), .infer = tort_infer_compare,
     .resolve = tort_resolve_binary, .reference = run_pair},
    {"", "Xor", 1, 6, "A:T B:T", "C:T1", "T=bool T1=bool", "axis:int broadcast:int=0", .flags = TORT_OP_IN_PLACE,
     .variant = PAIR_XOR, .params_size = sizeof(tort_binary), .infer = tort_infer_compare_old,
     .resolve = tort_resolve_binary, .reference = run_pair},
    {"", "Xor", 7, TORT_NEWEST_OPSET, "A:T B:T", "C:T1", "T=bool T1=bool", "", .flags = TORT_OP_IN_PLACE,
     .variant = PAIR_XOR, .params_size = sizeof(tort_binary), .infer = tort_infer_compare,
     .resolve = tort_resolve_binary, .reference = run_pair},
    {"", "BitwiseAnd", 18, TORT_NEWEST_OPSET, "A:T B:T", "C:T", "T=integers", "", .flags = TORT_OP_IN_PLACE,
     .variant = PAIR_BITWISE_AND, .params_size = sizeof(tort_binary), .infer = tort_infer_binary,
     .resolve = tort_resolve_binary, .reference = run_pair},
    {"", "BitwiseOr", 18, TORT_NEWEST_OPSET, "A:T B:T", "C:T", "T=integers", "", .flags = TORT_OP_IN_PLACE,
     .variant = PAIR_BITWISE_OR, .params_size = sizeof(tort_binary), .infer = tort_infer_binary,
     .resolve = tort_resolve_binary, .reference = run_pair},
    {"", "BitwiseXor", 18, TORT_NEWEST_OPSET, "A:T B:T", "C:T", "T=integers", "", .flags = TORT_OP_IN_PLACE,
     .variant = PAIR_BITWISE_XOR, .params_size = sizeof(tort_binary), .infer = tort_infer_binary,
     .resolve = tort_resolve_binary, .reference = run_pair},
    {"", "BitShift", 11, 27, "X:T Y:T", "Z:T", "T=uint8|uint16|uint32|uint64", "direction:string!",
     .flags = TORT_OP_IN_PLACE, .params_size = sizeof(tort_shift), tort_infer_binary, resolve_shift, run_shift},
    {"", "BitShift", 28, TORT_NEWEST_OPSET, "X:T Y:T", "Z:T", "T=integers", "direction:string!",
     .flags = TORT_OP_IN_PLACE, .params_size = sizeof(tort_shift), tort_infer_binary, resolve_shift, run_shift},
    {0},
};
