/* integer_matmul.h - MatMulInteger, QLinearMatMul and their kin as any provider of the host makes them: operands less
 * their zero points as floats, exact sums of products, and what becomes of the sums. Read next: integer_matmul.c. */
#ifndef TORT_OPS_INTEGER_MATMUL_H
#define TORT_OPS_INTEGER_MATMUL_H

#include "ops/broadcast.h"
#include "ops/matmul.h"

/* The numbers of an operator's inputs; -1: it has no such input. Without a scale of B the sums are the result. */
typedef struct tort_integer_inputs {
    int32_t a, a_scale, a_zero, b, b_scale, b_zero;
    int32_t y_scale, y_zero; /* without them the result is of floats */
    int32_t bias;            /* of floats, one a column */
    bool dynamic;            /* A is of floats, and becomes uint8 with a scale of its own */
} tort_integer_inputs;

/* The variants of the rows: MatMulInteger, MatMulInteger16, QLinearMatMul, MatMulIntegerToFloat, DynamicQuantizeMatMul.
 */
typedef enum tort_integer_matmul {
    TORT_MATMUL_INTEGER,
    TORT_MATMUL_INTEGER16,
    TORT_MATMUL_LINEAR,
    TORT_MATMUL_TO_FLOAT,
    TORT_MATMUL_DYNAMIC
} tort_integer_matmul;

extern const tort_integer_inputs tort_integer_matmul_inputs[];

/* The inputs of an operator of this family. */
static inline const tort_integer_inputs *tort_integer_inputs_of(const tort_op *op) {
    return &tort_integer_matmul_inputs[op->variant];
}

typedef struct tort_integer_product tort_integer_product;

/* Elements first .. first+count-1 of Y, which lie in one row, before scales and output type: at most TORT_BLOCK. */
typedef void (*tort_product_sums)(const tort_integer_product *product, int64_t first, int64_t count, double *sums);

struct tort_integer_product {
    const tort_matmul_params *params;
    const tort_tensor *y;
    const float *a, *b;                   /* less their zero points, as the operands lie; or NULL */
    const tort_tensor *a_scale, *b_scale; /* NULL: the sums are the result */
    tort_tensor scales[2];                /* what they point to */
    float dynamic_scale;                  /* likewise */
    bool quantized;                       /* the result is; else it is of floats */
    float y_scale, y_zero_point;
    const tort_tensor *bias; /* NULL: none */
    tort_loop loop;          /* over Y, with the scales */
    tort_product_sums sums;
    const void *arg; /* for sums */
};

/* Fills in all but sums and arg. `floats` has room for A and B, see tort_operands_scratch; a B without data, which a
 * kernel has in another form, needs none and is NULL. */
void tort_integer_product_open(const tort_call *call, const tort_integer_inputs *in, float *floats,
                               tort_integer_product *product);
/* Makes Y of the sums, on several threads where that pays; `work` as for tort_loop_parallel. */
void tort_integer_product_finish(const tort_call *call, const tort_integer_product *product, int64_t work);

/* The plain loop of MatMulIntegerToFloat. */
tort_status tort_run_matmul_to_float(const tort_call *call);

#endif
