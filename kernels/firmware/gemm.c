/* gemm.c - Gemm, MatMul and their fused forms as one function; or, where the second matrix is constant, as dense
 * layers, its columns packed in fours. */
#include "ops/gemm.h"
#include "kernels/firmware/bytes.h"
#include "kernels/firmware/floats.h"
#include "ops/matmul.h"

/* Bits of tort_kernel.variant. */
enum { MATMUL = 1, DENSE = 2 };

/* Arguments of tinyort_gemm but for its operands; c: whether there is an operand to add. */
typedef struct product {
    tinyort_gemm_shape shape;
    float numbers[4]; /* alpha, beta, and the bounds */
    bool c;
} product;

/* The batches of a product as two axes: neighbouring ones are merged where both operands step evenly. False: more. */
static bool merge_batches(const tort_matmul_params *p, tinyort_gemm_shape *shape) {
    int64_t sizes[TORT_MAX_RANK] = {1}, as[TORT_MAX_RANK] = {0}, bs[TORT_MAX_RANK] = {0};
    int32_t count = 0;
    for (int32_t i = 0; i < p->batch_rank; i++) {
        const int64_t size = p->batch_dims[i], a = p->a_strides[i], b = p->b_strides[i];
        if (size == 1) continue;
        if (count && as[count - 1] == size * a && bs[count - 1] == size * b) {
            sizes[count - 1] *= size;
        } else {
            sizes[count++] = size;
        }
        as[count - 1] = a;
        bs[count - 1] = b;
    }
    const int32_t inner = count > 1 ? 1 : 0;
    shape->groups = inner ? (int32_t)sizes[0] : 1;
    shape->a_group = inner ? (int32_t)as[0] : 0;
    shape->b_group = inner ? (int32_t)bs[0] : 0;
    shape->batches = (int32_t)sizes[inner];
    shape->a_batch = (int32_t)as[inner];
    shape->b_batch = (int32_t)bs[inner];
    return count <= 2;
}

/* ---- claim ------------------------------------------------------------------------------------------------------- */

static const tort_epilogue *epilogue_of(const tort_kernel *kernel, const void *params) {
    return kernel->variant & MATMUL ? &((const tort_matmul_params *)params)->epilogue
                                    : &((const tort_gemm_params *)params)->epilogue;
}

static tort_verdict claim_dense(const tort_node_view *node) {
    const tort_verdict verdict = tort_firmware_claim_constant(node, 1, "B");
    if (verdict.code != TORT_YES || node->inputs[1].rank == 2) {
        const bool across = !(node->kernel->variant & MATMUL) && ((const tort_gemm_params *)node->params)->trans_a;
        return across ? tort_no(TORT_NO_ATTR, "", "A is transposed") : verdict;
    }
    return tort_no(TORT_NO_SHAPE, "", "B has %d axes, expected 2", (int)node->inputs[1].rank);
}

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    const tort_matmul_params *p = node->params;
    const int32_t variant = node->kernel->variant;
    const tort_verdict verdict = tort_firmware_claim_float(target, node);
    tinyort_gemm_shape shape;
    if (verdict.code == TORT_YES && variant & DENSE) return claim_dense(node);
    if (verdict.code != TORT_YES || !(variant & MATMUL) || p->batch_rank <= 2) return verdict;
    if (p->batches >= 0 && merge_batches(p, &shape)) return verdict;
    return tort_no(TORT_NO_SHAPE, "reshape its inputs to 4 axes", "multiplies batches along two axes, not along %d",
                   (int)p->batch_rank);
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

/* A transposed matrix of (rows, columns) is stored as (columns, rows). */
static void steps_of(bool transposed, int64_t rows, int64_t columns, int32_t *row, int32_t *column) {
    *row = transposed ? 1 : (int32_t)columns;
    *column = transposed ? (int32_t)rows : 1;
}

static product gemm_of(const tort_gemm_params *p) {
    product made = {.shape = {.groups = 1, .batches = 1, .m = (int32_t)p->m, .n = (int32_t)p->n, .k = (int32_t)p->k},
                    .numbers = {p->alpha, p->beta},
                    .c = p->has_c};
    steps_of(p->trans_a, p->m, p->k, &made.shape.a_row, &made.shape.a_column);
    steps_of(p->trans_b, p->k, p->n, &made.shape.b_row, &made.shape.b_column);
    made.shape.c_row = (int32_t)p->c_row_stride;
    made.shape.c_column = (int32_t)p->c_column_stride;
    return made;
}

static product matmul_of(const tort_matmul_params *p, const tort_tensor *bias) {
    product made = {.shape = {.m = (int32_t)p->m,
                              .n = (int32_t)p->n,
                              .k = (int32_t)p->k,
                              .a_row = (int32_t)p->a_row,
                              .a_column = (int32_t)p->a_column,
                              .b_row = (int32_t)p->b_row,
                              .b_column = (int32_t)p->b_column},
                    .numbers = {p->alpha, 1.0f},
                    .c = bias != NULL};
    (void)merge_batches(p, &made.shape);
    made.shape.c_column = bias && tort_count(bias) > 1;
    return made;
}

/* bias: input 2, NULL if it is absent. */
static product product_of(const tort_kernel *kernel, const void *params, const tort_tensor *bias) {
    product made = kernel->variant & MATMUL ? matmul_of(params, bias) : gemm_of(params);
    tort_firmware_bounds(epilogue_of(kernel, params), &made.numbers[2], &made.numbers[3]);
    return made;
}

/* Matrices a that are multiplied with one b are a matrix of all their rows. */
static tinyort_dense_float_shape dense_of(const product *p) {
    const tinyort_gemm_shape *s = &p->shape;
    return (tinyort_dense_float_shape){s->groups * s->batches * s->m, s->n, s->k, s->k, s->c_row, s->c_column};
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

/* Sizes of a constant matrix B and steps between its elements. */
static tinyort_gemm_shape matrix_of(const tort_node_view *node) {
    const bool across = !(node->kernel->variant & MATMUL) && ((const tort_gemm_params *)node->params)->trans_b;
    const int64_t *dims = node->inputs[1].dims;
    tinyort_gemm_shape s = {.k = (int32_t)dims[across], .n = (int32_t)dims[!across]};
    steps_of(across, s.k, s.n, &s.b_row, &s.b_column);
    return s;
}

static tort_status pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                             tort_error *error) {
    const tinyort_gemm_shape s = matrix_of(node);
    (void)target;
    *consumed = 1u << 1;
    if (tort_firmware_fours_bytes(1, s.n, s.k, bytes)) return TORT_OK;
    return tort_fail(error, TORT_E_MODEL, "the weights do not fit the memory");
}

static tort_status prepare(tort_prepare *prepare) {
    const tinyort_gemm_shape s = matrix_of(prepare->node);
    tort_firmware_pack_fours(prepare->node->inputs[1].data, s.n, s.k, s.b_column, s.b_row, prepare->packed);
    return TORT_OK;
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

static tort_status run(const tort_call *call) {
    const tort_firmware_floats *form = ((const tort_firmware_bytes *)call->device)->floats;
    const product p = product_of(call->kernel, call->params, tort_call_input(call, 2));
    const tinyort_dense_float_shape dense = dense_of(&p);
    const float *a = call->inputs[0].data, *b = call->inputs[1].data, *c = p.c ? tort_firmware_input(call, 2) : NULL;
    const float *z = tort_firmware_input(call, TORT_EPILOGUE_Z), *n = p.numbers;
    float *y = call->outputs[0].data;
    tort_status status;
    if (call->kernel->variant & DENSE) {
        tort_firmware_fours_array(call, 1, dense.filters, dense.depth);
        status = TORT_FIRMWARE_CALL_FORM_WITH(call, form->step, "tinyort_dense_float", form->dense, &dense,
                                              (a, call->packed, c, z, y), n[0], n[1], n[2], n[3]);
    } else {
        status = TORT_FIRMWARE_CALL_FORM_WITH(call, form->step, "tinyort_gemm", form->gemm, &p.shape, (a, b, c, z, y),
                                              n[0], n[1], n[2], n[3]);
    }
    return status ? status : tort_firmware_activate(call, epilogue_of(call->kernel, call->params));
}

#define ROW(domain_, op_, name_, variant_, in_place_)                                                                  \
    {                                                                                                                  \
        domain_, op_, name_, .claim = claim, .run = run, .emit = tort_firmware_emit, .variant = variant_,              \
                             .in_place = in_place_                                                                     \
    }
#define DENSE_ROW(domain_, op_, variant_, in_place_)                                                                   \
    {                                                                                                                  \
        domain_, op_, "dense", .claim = claim, .prepare = prepare, .pack = {.size = pack_size}, .run = run,            \
                               .emit = tort_firmware_emit, .variant = DENSE | variant_, .in_place = in_place_          \
    }

const tort_kernel tort_firmware_gemm[] = {
    DENSE_ROW("", "Gemm", 0, 0),
    DENSE_ROW("tinyort", "FusedGemm", 0, 1u << TORT_EPILOGUE_Z),
    DENSE_ROW("", "MatMul", MATMUL, 0),
    DENSE_ROW("tinyort", "FusedMatMul", MATMUL, 1u << TORT_EPILOGUE_Z),
    ROW("", "Gemm", "gemm", 0, 0),
    ROW("tinyort", "FusedGemm", "gemm", 0, 1u << TORT_EPILOGUE_Z),
    ROW("", "MatMul", "matmul", MATMUL, 0),
    ROW("tinyort", "FusedMatMul", "matmul", MATMUL, 1u << TORT_EPILOGUE_Z),
    {.op = NULL},
};
