/* product_doubles.c - random nodes for kernels/cpu/product_doubles.c: those of MatMul and Gemm of floats, with inputs
 * of double. */
#include "ops/numeric.h"
#include "tests/cases/cases.h"

/* In place, from the last element: buffers have room for elements of 8 bytes. */
static void widen(random_node *n) {
    for (int32_t i = 0; i < n->input_count; i++) {
        tort_tensor *tensor = &n->inputs[i];
        if (!tort_present(tensor)) continue;
        for (int64_t e = tort_count(tensor) - 1; e >= 0; e--)
            ((double *)tensor->data)[e] = (double)((const float *)tensor->data)[e];
        tensor->type = TORT_DOUBLE;
    }
    n->tolerance = 1e-12f;
}

static void make_matmul_of_doubles(random_node *n, random_source *r) {
    make_matmul(n, r);
    widen(n);
}

static void make_gemm_of_doubles(random_node *n, random_source *r) {
    make_gemm(n, r);
    widen(n);
}

const kernel_case tort_rows_product_doubles[] = {
    {"", "MatMul", "matmul_doubles", make_matmul_of_doubles, NULL},
    {"", "Gemm", "gemm_doubles", make_gemm_of_doubles, NULL},
    {.op = NULL},
};
