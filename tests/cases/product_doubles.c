/* product_doubles.c - random nodes for kernels/cpu/product_doubles.c: those of MatMul and Gemm of floats, with inputs
 * of double. */
#include "tests/cases/cases.h"

static void make_matmul_of_doubles(random_node *n, random_source *r) {
    make_matmul(n, r);
    to_doubles(n);
    n->tolerance = 1e-12f;
}

static void make_gemm_of_doubles(random_node *n, random_source *r) {
    make_gemm(n, r);
    to_doubles(n);
    n->tolerance = 1e-12f;
}

const kernel_case tort_rows_product_doubles[] = {
    {"", "MatMul", "matmul_doubles", make_matmul_of_doubles, NULL},
    {"", "Gemm", "gemm_doubles", make_gemm_of_doubles, NULL},
    {"tinyort", "FusedMatMul", "matmul_doubles", make_matmul_of_doubles, "MatMul"},
    {"tinyort", "FusedGemm", "gemm_doubles", make_gemm_of_doubles, "Gemm"},
    {.op = NULL},
};
