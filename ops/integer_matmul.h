/* integer_matmul.h - MatMulInteger, QLinearMatMul and their kin for the providers of the host: operands less their zero
 * points as floats, exact sums of products, and the scaling of the sums. Read next: integer_matmul.c. */
#ifndef TORT_OPS_INTEGER_MATMUL_H
#define TORT_OPS_INTEGER_MATMUL_H

#include "ops/broadcast.h"
#include "ops/matmul.h"

/* Input indices of an operator; -1: it has no such input. Without a scale of B the sums are the result. */
typedef struct tort_integer_inputs {
    int32_t a, a_scale, a_zero, b, b_scale, b_zero;
    int32_t y_scale, y_zero; /* without them the result is float */
    int32_t bias;            /* one per column: a float, or, where Y is quantized, an int32 in steps of the sums */
    bool dynamic;            /* A is float, and is quantized to uint8 with a scale of its own */
} tort_integer_inputs;

/* Values of tort_op.variant: MatMulInteger, MatMulInteger16, QLinearMatMul, tinyort's with a bias,
 * MatMulIntegerToFloat, DynamicQuantizeMatMul. */
typedef enum tort_integer_matmul {
    TORT_MATMUL_INTEGER,
    TORT_MATMUL_INTEGER16,
    TORT_MATMUL_LINEAR,
    TORT_MATMUL_BIASED,
    TORT_MATMUL_TO_FLOAT,
    TORT_MATMUL_DYNAMIC
} tort_integer_matmul;

extern const tort_integer_inputs tort_integer_matmul_inputs[];

/* Input indices of an operator of this family. */
static inline const tort_integer_inputs *tort_integer_inputs_of(const tort_op *op) {
    return &tort_integer_matmul_inputs[op->variant];
}

typedef struct tort_integer_product tort_integer_product;

/* Computes elements first .. first+count-1 of Y, which lie in one row, before scales and output type: at most
 * TORT_BLOCK. */
typedef void (*tort_product_sums)(const tort_integer_product *product, int64_t first, int64_t count, double *sums);

struct tort_integer_product {
    const tort_call *call;
    const tort_matmul_params *params;
    const tort_tensor *y;
    const float *a, *b;                   /* less their zero points, laid out as the operands; or NULL */
    const tort_tensor *a_scale, *b_scale; /* NULL: the sums are the result */
    tort_tensor scales[2];                /* storage of a_scale and b_scale */
    float dynamic_scale;                  /* storage of the scale of a dynamic A */
    bool quantized;                       /* the result is quantized; else it is float */
    float y_scale, y_zero_point;
    const tort_tensor *bias; /* NULL: none */
    tort_loop loop;          /* over Y, with broadcast scales */
    tort_product_sums sums;
    const void *arg; /* for sums */
};

/* Fills in all but sums and arg. `floats` has room for A and B, see tort_operands_scratch; a B without data, which a
 * kernel has packed, needs no room, and b is NULL. */
void tort_integer_product_open(const tort_call *call, const tort_integer_inputs *in, float *floats,
                               tort_integer_product *product);
/* Computes Y from the sums, on several threads where that pays; `work` as for tort_loop_parallel. */
void tort_integer_product_finish(const tort_call *call, const tort_integer_product *product, int64_t work);

/* The plain loop of MatMulIntegerToFloat. */
tort_status tort_run_matmul_to_float(const tort_call *call);

#endif
