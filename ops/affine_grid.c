#include "runtime/op.h"

const tort_op tort_ops_affine_grid[] = {
    {0},
};
