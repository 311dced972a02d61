#include "runtime/op.h"

const tort_op tort_ops_reverse_sequence[] = {
    {0},
};
