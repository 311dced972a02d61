#include "runtime/op.h"

const tort_op tort_ops_tensor_scatter[] = {
    {0},
};
