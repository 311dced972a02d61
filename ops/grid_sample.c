#include "runtime/op.h"

const tort_op tort_ops_grid_sample[] = {
    {0},
};
