#include "runtime/op.h"

const tort_op tort_ops_pad[] = {
    {0},
};
