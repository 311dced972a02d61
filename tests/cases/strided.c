/* strided.c - random nodes for kernels/cpu/strided.c: lanes along every axis, of few and of many elements. */
#include "ops/numeric.h"
#include "tests/cases/cases.h"

#include <math.h>

static void make_lanes(random_node *n, random_source *r, bool inner) {
    const int64_t dims[3] = {draw(r, 1, 3), chance(r, 10) ? 1500 : draw(r, 1, 90),
                             chance(r, 20) ? draw(r, 60, 200) : draw(r, 2, 40)};
    add_tensor(n, r, 3, dims);
    for (int32_t i = 0; i < 2; i++)
        if (chance(r, 30)) spoil_input(n, r, 0);
    add_int(n, "axis", inner ? draw(r, 0, 1) : draw(r, 0, 2));
    n->opset = 13;
}

static void make_inner_softmax(random_node *n, random_source *r) {
    make_lanes(n, r, true);
    n->tolerance = 1e-5f;
}

/* Elements are few different numbers, so that many are equal. */
static void make_arg(random_node *n, random_source *r) {
    make_lanes(n, r, false);
    add_int(n, "keepdims", draw(r, 0, 1));
    if (!chance(r, 5)) return;
    float *x = n->inputs[0].data;
    for (int64_t i = 0; i < tort_count(&n->inputs[0]); i++) x[i] = -INFINITY;
}

static void make_sums(random_node *n, random_source *r) {
    make_lanes(n, r, true);
    n->attribute_count = 0; /* the axis is input 1 */
    const tort_tensor *axis = add_buffer(n, TORT_INT64, 0, NULL);
    *(int64_t *)axis->data = draw(r, -3, 2);
    n->constant[1] = true;
    add_int(n, "reverse", draw(r, 0, 1));
    n->opset = 14;
}

const kernel_case tort_rows_strided[] = {
    {"", "Softmax", "softmax_columns", make_inner_softmax, NULL},
    {"", "LogSoftmax", "log_softmax_columns", make_inner_softmax, NULL},
    {"", "ArgMax", "arg_vectors", make_arg, NULL},
    {"", "ArgMin", "arg_vectors", make_arg, NULL},
    {"", "CumSum", "cumsum_columns", make_sums, NULL},
    {.op = NULL},
};
