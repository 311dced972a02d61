#include "runtime/op.h"

const tort_op tort_ops_cumulative[] = {
    {0},
};
