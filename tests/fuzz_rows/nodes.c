/* nodes.c - models of one node: those of the unit tests of each row (tests/unit/cpu_kernel_cases.c), also with empty
 * tensors and with numbers that are not finite. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/numeric.h"
#include "tests/fuzz_rows/makers.h"

void spoil(const tort_tensor *tensor, random_source *random) {
    static const double numbers[] = {NAN, INFINITY, -INFINITY, -0.0, 1e-40, -1e-40, 1e-3, 60};
    const int64_t count = tort_count(tensor), times = draw(random, 1, 3);
    for (int64_t i = 0; i < times && count > 0; i++)
        tort_store_doubles(tensor->type, tensor->data, draw(random, 0, count - 1), 1,
                           &numbers[draw(random, 0, sizeof numbers / sizeof *numbers - 1)]);
}

static bool all_floats(const random_node *node) {
    for (int32_t i = 0; i < node->input_count; i++)
        if (tort_present(&node->inputs[i]) && !tort_type_is_float(node->inputs[i].type)) return false;
    return true;
}

/* What is quantized, or a list of numbers, stays as it is. So do the weights of a convolution: the plain loop leaves
 * out what a fast one multiplies by the 0 of the padding. */
static void spoil_inputs(random_node *node, random_source *random, bool window) {
    if (!all_floats(node)) return;
    for (int32_t i = 0; i < node->input_count; i++)
        if (tort_present(&node->inputs[i]) && (i != 1 || !window) && chance(random, 60))
            spoil(&node->inputs[i], random);
}

static bool is_finite(const tort_tensor *tensor) {
    bool all = true;
    for (int64_t i = 0; all && tort_present(tensor) && tort_type_is_float(tensor->type) && i < tort_count(tensor);
         i++) {
        double number;
        tort_load_doubles(tensor->type, tensor->data, i, 1, &number);
        all = isfinite(number);
    }
    return all;
}

/* One size becomes 0 wherever it stands. */
static void empty_inputs(random_node *node, random_source *random) {
    const tort_tensor *first = &node->inputs[0];
    if (first->rank == 0) return;
    const int64_t size = first->dims[draw(random, 0, first->rank - 1)];
    for (int32_t i = 0; i < node->input_count; i++)
        for (int32_t d = 0; d < node->inputs[i].rank; d++)
            if (node->inputs[i].dims[d] == size) node->inputs[i].dims[d] = 0;
}

void make_node(random_model *made, const kernel_case *kernel, random_source *random, const tort_env *env) {
    tort_error error = {0};
    random_node *node = &made->node;
    const bool valid = make_random_node(kernel, node, random, env);
    const tort_type half = chance(random, 60) ? TORT_FLOAT16 : TORT_BFLOAT16;
    const int64_t how = draw(random, 1, 100);
    if (how <= 4) empty_inputs(node, random);
    if (how > 85) spoil_inputs(node, random, strstr(kernel->op, "Conv") != NULL);
    if (chance(random, 20)) to_halves(node, half);
    snprintf(made->text, sizeof made->text, "%s%s%s of %s for %s%s", kernel->domain, *kernel->domain ? "." : "",
             kernel->op, tort_type_name(node->inputs[0].type), kernel->kernel,
             how <= 4   ? ", empty"
             : how > 85 ? ", not finite"
                        : "");
    made->model = valid ? random_node_model(kernel, node, env, &error) : NULL;
    made->subject = (subject){
        .model = made->model, .tolerance = {1e-5, 1e-4, 2e-6}, .finite = how <= 85 && is_finite(&node->inputs[0])};
    if (strstr(kernel->kernel, "winograd"))
        made->subject.tolerance.absolute = 4e-5; /* of sums of a thousand products */
    if ((double)node->tolerance > made->subject.tolerance.relative)
        made->subject.tolerance.relative = (double)node->tolerance;
    for (int32_t i = 0; i < node->input_count; i++)
        if (tort_present(&node->inputs[i]) && !node->constant[i])
            made->subject.inputs[made->subject.input_count++] = node->inputs[i];
}

void free_made(random_model *made) {
    tort_model_free(made->model);
    free_random_node(&made->node);
    free(made->data);
    onnx_free(&made->bytes);
}
