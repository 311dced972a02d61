#include "runtime/op.h"

const tort_op tort_ops_random[] = {
    {0},
};
