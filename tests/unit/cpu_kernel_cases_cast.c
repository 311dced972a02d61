/* cpu_kernel_cases_cast.c - makers of random nodes of Cast and CastLike, to and from half types. Read first:
 * cpu_kernel_cases.c. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/numeric.h"
#include "tests/unit/cpu_kernel_cases.h"

static void cast_inputs(random_node *n, random_source *r, bool narrow) {
    static const float special[] = {0.0f,     -0.0f,     INFINITY, -INFINITY, NAN,       65504,
                                    65519.9f, -65520.0f, 0x1p-24f, 0x1p-25f,  -0x1p-15f, 3.4e38f};
    const int64_t dims[2] = {draw(r, 0, 5), draw(r, 1, 9000)};
    add_tensor(n, r, 2, dims);
    tort_tensor *x = &n->inputs[0];
    const int64_t count = tort_count(x);
    float *data = x->data;
    for (int64_t i = 0; i < count; i++)
        data[i] = chance(r, 20) ? special[draw(r, 0, 11)] : data[i] * (float)draw(r, 1, 99999);
    if (narrow) return;
    x->type = chance(r, 50) ? TORT_FLOAT16 : TORT_BFLOAT16;
    uint16_t *halves = malloc((size_t)count * sizeof *halves + 64);
    cr_assert(halves);
    tort_store_floats(x->type, halves, 0, count, data);
    free(data);
    x->data = halves;
}

void make_cast_half(random_node *n, random_source *r) {
    const bool narrow = chance(r, 50);
    cast_inputs(n, r, narrow);
    add_int(n, "to", narrow ? (chance(r, 50) ? TORT_FLOAT16 : TORT_BFLOAT16) : TORT_FLOAT);
    n->opset = 21;
}

void make_cast_like_half(random_node *n, random_source *r) {
    const int64_t one = 1;
    const bool narrow = chance(r, 50);
    cast_inputs(n, r, narrow);
    add_tensor(n, r, 1, &one);
    if (narrow) {
        n->inputs[1].type = TORT_FLOAT16;
        memset(n->inputs[1].data, 0, sizeof(uint16_t));
    }
    n->opset = 21;
}
