/* logic.c - And, Or and Xor of bools, BitwiseAnd, BitwiseOr, BitwiseXor and BitShift of integers, with broadcasting. */
#include "ops/elementwise.h"

#include <string.h>

TORT_PAIR_LOOP(and_bool, uint8_t, bool, void, (a != 0) & (b != 0))
TORT_PAIR_LOOP(or_bool, uint8_t, bool, void, (a != 0) | (b != 0))
TORT_PAIR_LOOP(xor_bool, uint8_t, bool, void, (a != 0) != (b != 0))

/* A shift by all bits or more, or by a negative number, leaves the fill alone: the sign to the right, 0 to the left.
 * Left shifts are done unsigned, where no bit is special. */
#define BITS(ctype) (int)(8 * sizeof(ctype))
#define DEFINE(enumerator, ctype, type)                                                                                \
    TORT_PAIR_LOOP(bitwise_and_##type, ctype, ctype, void, a &b)                                                       \
    TORT_PAIR_LOOP(bitwise_or_##type, ctype, ctype, void, a | b)                                                       \
    TORT_PAIR_LOOP(bitwise_xor_##type, ctype, ctype, void, a ^ b)                                                      \
    TORT_PAIR_LOOP(left_##type, ctype, ctype, void, (uint64_t)b < BITS(ctype) ? (uint64_t)a << (uint64_t)b : 0)
TORT_FOR_INTEGERS(DEFINE)
#undef DEFINE
#define DEFINE(enumerator, ctype, type)                                                                                \
    TORT_PAIR_LOOP(right_##type, ctype, ctype, void, a >> ((uint64_t)b < BITS(ctype) ? (int)b : BITS(ctype) - 1))
TORT_FOR_SIGNED(DEFINE)
#undef DEFINE
#define DEFINE(enumerator, ctype, type)                                                                                \
    TORT_PAIR_LOOP(right_##type, ctype, ctype, void, (uint64_t)b < BITS(ctype) ? a >> (int)b : 0)
TORT_FOR_UNSIGNED(DEFINE)
#undef DEFINE

#define BITWISE_AND(enumerator, ctype, type) [enumerator] = bitwise_and_##type,
#define BITWISE_OR(enumerator, ctype, type) [enumerator] = bitwise_or_##type,
#define BITWISE_XOR(enumerator, ctype, type) [enumerator] = bitwise_xor_##type,
#define LEFT(enumerator, ctype, type) [enumerator] = left_##type,
#define RIGHT(enumerator, ctype, type) [enumerator] = right_##type,

#define OPERATOR(name, ...)                                                                                            \
    static tort_status run_##name(const tort_call *call) {                                                             \
        static const tort_pair pair = {{__VA_ARGS__}, 6};                                                              \
        return tort_run_pair(call, &pair);                                                                             \
    }
OPERATOR(and, [TORT_BOOL] = and_bool)
OPERATOR(or, [TORT_BOOL] = or_bool)
OPERATOR(xor, [TORT_BOOL] = xor_bool)
OPERATOR(bitwise_and, TORT_FOR_INTEGERS(BITWISE_AND))
OPERATOR(bitwise_or, TORT_FOR_INTEGERS(BITWISE_OR))
OPERATOR(bitwise_xor, TORT_FOR_INTEGERS(BITWISE_XOR))

/* ---- BitShift ---------------------------------------------------------------------------------------------------- */

typedef struct shift {
    tort_binary binary;
    bool left;
} shift;

static tort_status resolve_shift(tort_resolve *resolve) {
    shift *params = resolve->params;
    const char *direction = tort_attr_string(resolve->node, "direction");
    params->left = strcmp(direction, "LEFT") == 0;
    if (params->left || strcmp(direction, "RIGHT") == 0) return TORT_OK;
    return tort_fail(resolve->error, TORT_E_MODEL, "direction is \"%s\", expected \"LEFT\" or \"RIGHT\"", direction);
}

static tort_status run_shift(const tort_call *call) {
    static const tort_pair left = {{TORT_FOR_INTEGERS(LEFT)}, 6}, right = {{TORT_FOR_INTEGERS(RIGHT)}, 6};
    const shift *params = call->params;
    return tort_run_pair(call, params->left ? &left : &right);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

const tort_op tort_ops_logic[] = {
    {"", "And", 1, 6, "A:T B:T", "C:T1", "T=bool T1=bool", "axis:int broadcast:int=0", 0, TORT_OP_IN_PLACE,
     sizeof(tort_binary), tort_infer_compare_old, tort_resolve_binary, run_and},
    {"", "And", 7, 28, "A:T B:T", "C:T1", "T=bool T1=bool", "", 0, TORT_OP_IN_PLACE, sizeof(tort_binary),
     tort_infer_compare, tort_resolve_binary, run_and},
    {"", "Or", 1, 6, "A:T B:T", "C:T1", "T=bool T1=bool", "axis:int broadcast:int=0", 0, TORT_OP_IN_PLACE,
     sizeof(tort_binary), tort_infer_compare_old, tort_resolve_binary, run_or},
    {"", "Or", 7, 28, "A:T B:T", "C:T1", "T=bool T1=bool", "", 0, TORT_OP_IN_PLACE, sizeof(tort_binary),
     tort_infer_compare, tort_resolve_binary, run_or},
    {"", "Xor", 1, 6, "A:T B:T", "C:T1", "T=bool T1=bool", "axis:int broadcast:int=0", 0, TORT_OP_IN_PLACE,
     sizeof(tort_binary), tort_infer_compare_old, tort_resolve_binary, run_xor},
    {"", "Xor", 7, 28, "A:T B:T", "C:T1", "T=bool T1=bool", "", 0, TORT_OP_IN_PLACE, sizeof(tort_binary),
     tort_infer_compare, tort_resolve_binary, run_xor},
    {"", "BitwiseAnd", 18, 28, "A:T B:T", "C:T", "T=integers", "", 0, TORT_OP_IN_PLACE, sizeof(tort_binary),
     tort_infer_binary, tort_resolve_binary, run_bitwise_and},
    {"", "BitwiseOr", 18, 28, "A:T B:T", "C:T", "T=integers", "", 0, TORT_OP_IN_PLACE, sizeof(tort_binary),
     tort_infer_binary, tort_resolve_binary, run_bitwise_or},
    {"", "BitwiseXor", 18, 28, "A:T B:T", "C:T", "T=integers", "", 0, TORT_OP_IN_PLACE, sizeof(tort_binary),
     tort_infer_binary, tort_resolve_binary, run_bitwise_xor},
    {"", "BitShift", 11, 27, "X:T Y:T", "Z:T", "T=uint8|uint16|uint32|uint64", "direction:string!", 0, TORT_OP_IN_PLACE,
     sizeof(shift), tort_infer_binary, resolve_shift, run_shift},
    {"", "BitShift", 28, 28, "X:T Y:T", "Z:T", "T=integers", "direction:string!", 0, TORT_OP_IN_PLACE, sizeof(shift),
     tort_infer_binary, resolve_shift, run_shift},
    {0},
};
