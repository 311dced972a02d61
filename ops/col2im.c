#include "runtime/op.h"

const tort_op tort_ops_col2im[] = {
    {0},
};
