#include "runtime/op.h"

const tort_op tort_ops_norm[] = {
    {0},
};
