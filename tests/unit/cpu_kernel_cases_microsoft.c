/* cpu_kernel_cases_microsoft.c - makers of random nodes of com.microsoft, and of normalisations that are akin to them.
 * Read first: cpu_kernel_cases.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/numeric.h"
#include "tests/unit/cpu_kernel_cases.h"

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* `activation` and activation_params. */
void add_operator_activation(random_node *n, random_source *r, bool exact) {
    static const struct {
        const char *name;
        int32_t numbers;
        bool exact;
    } activations[] = {{"Relu", 0, true},     {"LeakyRelu", 1, true}, {"Clip", 2, true},      {"HardSigmoid", 2, true},
                       {"Sigmoid", 0, false}, {"Tanh", 0, false},     {"HardSwish", 0, false}};
    static const float numbers[] = {0.25f, 0.5f};
    int64_t i = draw(r, 0, 6);
    while (activations[i].exact != exact) i = draw(r, 0, 6);
    add_string(n, "activation", activations[i].name);
    if (activations[i].numbers > 0)
        n->attributes[n->attribute_count++] = (tort_attribute){.name = "activation_params",
                                                               .kind = TORT_ATTR_FLOATS,
                                                               .count = activations[i].numbers,
                                                               .u.floats = numbers};
}

void make_activated_gemm(random_node *n, random_source *r) {
    static const char *const names[] = {"Celu",    "Elu",      "HardSigmoid", "LeakyRelu", "Relu",           "Selu",
                                        "Sigmoid", "Softplus", "Softsign",    "Tanh",      "ThresholdedRelu"};
    make_gemm(n, r);
    add_string(n, "activation", names[draw(r, 0, 10)]);
    add_float(n, "activation_alpha", (float)draw(r, 1, 8) / 8);
    add_float(n, "activation_beta", (float)draw(r, 1, 8) / 8);
    add_float(n, "activation_gamma", (float)draw(r, 1, 8) / 8);
    n->opset = 1;
    n->tolerance = 1e-5f;
}

/* An operand that is seen as (batch..., rows, columns): with the last two axes exchanged, and with the axis that is
 * then before the last one brought to the front. */
static void add_operand(random_node *n, random_source *r, int32_t rank, const int64_t *shape, bool exchange,
                        bool to_front) {
    int64_t seen[4] = {0}, dims[4] = {0};
    for (int32_t i = 0; i < rank; i++) seen[i] = shape[i];
    if (exchange) {
        seen[rank - 2] = shape[rank - 1];
        seen[rank - 1] = shape[rank - 2];
    }
    for (int32_t i = 0; i < rank; i++) dims[i] = seen[i];
    if (to_front) {
        dims[0] = seen[rank - 2];
        for (int32_t i = 1; i < rank - 1; i++) dims[i] = seen[i - 1];
    }
    add_tensor(n, r, rank, dims);
}

static void make_transposed(random_node *n, random_source *r, bool batches) {
    static const char *const names[4] = {"transA", "transB", "transBatchA", "transBatchB"};
    bool flags[4];
    const int64_t sizes[] = {1, 2, 7, 16, 33, 100};
    const int64_t m = pick(r, sizes, 6), k = pick(r, sizes, 6), columns = pick(r, sizes, 6);
    const int32_t batch = (int32_t)draw(r, 0, 2);
    int64_t a[4] = {2, 3}, b[4] = {2, chance(r, 50) ? 3 : 1};
    if (batch == 1 && chance(r, 50)) a[0] = 1;
    a[batch] = m;
    a[batch + 1] = b[batch] = k;
    b[batch + 1] = columns;
    for (int32_t i = 0; i < 4; i++) {
        flags[i] = chance(r, 50) && (i < 2 || batches);
        if (i < 2 || batches) add_int(n, names[i], flags[i]);
    }
    const int32_t skipped = chance(r, 40) ? batch : 0; /* a B of rank 2 serves all batches */
    add_operand(n, r, batch + 2, a, flags[0], flags[2]);
    add_operand(n, r, batch + 2 - skipped, b + skipped, flags[1], flags[3]);
    n->constant[1] = chance(r, 60);
    add_float(n, "alpha", (float)draw(r, -4, 4) / 4);
    n->opset = 1;
}

void make_transposed_matmul(random_node *n, random_source *r) {
    make_transposed(n, r, true);
}

void make_older_matmul(random_node *n, random_source *r) {
    make_transposed(n, r, false);
}

void make_activated_matmul(random_node *n, random_source *r) {
    make_transposed(n, r, true);
    add_string(n, "activation", chance(r, 50) ? "Tanh" : "Relu");
    n->tolerance = 1e-5f;
}

void make_gelu_matmul(random_node *n, random_source *r) {
    const int64_t sizes[] = {1, 2, 7, 16, 33, 100};
    const int64_t x[3] = {draw(r, 1, 3), pick(r, sizes, 6), pick(r, sizes, 6)}, w[2] = {x[2], pick(r, sizes, 6)};
    add_tensor(n, r, 3, x);
    add_tensor(n, r, 2, w);
    if (chance(r, 60)) add_tensor(n, r, 1, w + 1);
    n->constant[1] = chance(r, 60);
    n->opset = 1;
    n->tolerance = 1e-5f;
}

/* A ConvTranspose whose pads are input 2, which is in the model; B comes behind them. */
void make_dynamic_pads(random_node *n, random_source *r) {
    make_conv_transpose(n, r);
    const tort_tensor bias = n->input_count > 2 ? n->inputs[2] : (tort_tensor){.type = TORT_UNDEFINED};
    const tort_attribute *last = &n->attributes[n->attribute_count - 1];
    const int64_t count = last->count;
    n->input_count = 2;
    if (strcmp(last->name, "pads") == 0) {
        add_integers(n, r, TORT_INT64, 1, &count);
        memcpy(n->inputs[2].data, last->u.ints, (size_t)count * sizeof *last->u.ints);
        n->constant[2] = true;
        n->attribute_count--;
    } else {
        n->inputs[n->input_count++] = (tort_tensor){.type = TORT_UNDEFINED};
    }
    n->inputs[n->input_count++] = bias;
    n->opset = 1;
}

/* ---- activations ------------------------------------------------------------------------------------------------- */

void make_map_of_microsoft(random_node *n, random_source *r) {
    make_map(n, r);
    n->opset = 1;
}

void make_quick_gelu(random_node *n, random_source *r) {
    make_swish(n, r);
    n->opset = 1;
}

void make_bias_gelu(random_node *n, random_source *r) {
    make_map_of_microsoft(n, r);
    add_tensor(n, r, 1, n->inputs[0].dims + n->inputs[0].rank - 1);
}

/* ---- normalisations ---------------------------------------------------------------------------------------------- */

void make_rms_norm(random_node *n, random_source *r) {
    const int64_t dims[3] = {draw(r, 1, 5), draw(r, 1, 7), pick(r, (const int64_t[]){1, 5, 16, 31, 64, 77}, 6)};
    const int32_t axis = (int32_t)draw(r, 1, 2);
    add_tensor(n, r, 3, dims);
    add_tensor(n, r, 3 - axis, dims + axis);
    add_int(n, "axis", chance(r, 50) ? axis : axis - 3);
    n->opset = 23;
    n->tolerance = 1e-5f;
}

static void add_skip_inputs(random_node *n, random_source *r, int32_t lists) {
    const int64_t dims[3] = {draw(r, 1, 4), draw(r, 1, 6), pick(r, (const int64_t[]){1, 5, 16, 31, 64, 77}, 6)};
    const int64_t shared[3] = {1, dims[1], dims[2]};
    add_tensor(n, r, 3, dims);
    if (chance(r, 30))
        add_tensor(n, r, 2, dims + 1);
    else
        add_tensor(n, r, 3, chance(r, 50) ? shared : dims);
    for (int32_t i = 0; i < lists; i++) {
        if (i == 0 || chance(r, 70))
            add_tensor(n, r, 1, dims + 2);
        else
            n->inputs[n->input_count++] = (tort_tensor){.type = TORT_UNDEFINED};
    }
    add_float(n, "epsilon", 1e-3f);
    n->opset = 1;
    n->tolerance = 1e-4f; /* a variance of few elements may nearly cancel */
}

void make_skip_norm(random_node *n, random_source *r) {
    add_skip_inputs(n, r, 3);
}

void make_simplified_skip_norm(random_node *n, random_source *r) {
    add_skip_inputs(n, r, 2);
}
