/* map.c - random nodes for the rows of kernels/cpu/map.c that need other elements than those of the rest. */
#include "ops/numeric.h"
#include "tests/cases/cases.h"

#include <math.h>

/* Small and large angles, also those beyond what the vector functions take. */
static void make_angles(random_node *n, random_source *r) {
    static const float odd[] = {NAN, INFINITY, -0.0f, 1.5e6f, -3e20f, 1e6f, 1e-30f, 123456.75f};
    const int64_t count = draw(r, 1, 700);
    add_tensor(n, r, 1, &count);
    float *x = n->inputs[0].data;
    for (int64_t i = 0; i < count; i++) x[i] *= chance(r, 20) ? 1000.0f : 0.37f;
    for (int32_t i = 0; i < 3; i++)
        if (chance(r, 30)) x[draw(r, 0, count - 1)] = odd[draw(r, 0, 7)];
    n->opset = 7;
    n->tolerance = 1e-5f;
}

static void make_spoiled(random_node *n, random_source *r) {
    make_map(n, r);
    for (int32_t i = 0; i < 4; i++) spoil_input(n, r, 0);
}

static void make_bools(random_node *n, random_source *r) {
    const int64_t count = draw(r, 0, 300);
    add_integers(n, r, TORT_BOOL, 1, &count);
    for (int64_t i = 0; i < count; i++) ((bool *)n->inputs[0].data)[i] = chance(r, 50);
    n->opset = 1;
}

static void make_bits(random_node *n, random_source *r) {
    const int64_t count = draw(r, 0, 300);
    add_integers(n, r, chance(r, 50) ? TORT_INT8 : TORT_INT64, 1, &count);
    n->opset = 18;
}

const kernel_case tort_rows_map[] = {
    {"", "Sin", "sin_vectors", make_angles, NULL},
    {"", "Cos", "cos_vectors", make_angles, NULL},
    {"", "Tan", "tan_vectors", make_angles, NULL},
    {"", "Atan", "atan_vectors", make_angles, NULL},
    {"", "Sign", "sign_vectors", make_spoiled, NULL},
    {"", "IsNaN", "is_nan_vectors", make_spoiled, NULL},
    {"", "Not", "not_vectors", make_bools, NULL},
    {"", "BitwiseNot", "not_vectors", make_bits, NULL},
    {.op = NULL},
};
