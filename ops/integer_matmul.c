#include "runtime/op.h"

const tort_op tort_ops_integer_matmul[] = {
    {0},
};
