#include "runtime/op.h"

const tort_op tort_ops_unary[] = {
    {0},
};
