/* einsum.c - rows and claims of Einsum. Where the output of two operands is one matrix behind the other, the tiled
 * product of MatMul makes it, whatever the order of the operands' labels; otherwise a kernel that writes in any order.
 * Of any other number of operands, or with labels of one that are summed up alone, a thread makes an output.
 * Read first: ops/einsum_product.h. Kernels: matmul.cu, einsum.cu. */
#include "ops/einsum_product.h"

#include "kernels/cuda/einsum.h"
#include "kernels/cuda/matmul.h"

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    const tort_einsum_params *p = node->params;
    const tort_verdict verdict = tort_einsum_claim_product(p);
    if (verdict.code != TORT_YES) return verdict;
    if (p->label_count > GPU_EINSUM_AXES)
        return tort_no(TORT_NO_ATTR, "", "the equation has %d labels, the kernel takes up to %d", (int)p->label_count,
                       GPU_EINSUM_AXES);
    return tort_cuda_claim_real(target, node);
}

static tort_verdict claim_any(const tort_target *target, const tort_node_view *node) {
    const tort_einsum_params *p = node->params;
    if (p->operand_count == 0) return tort_no(TORT_NO_DYNAMIC, "", "the ranks of the operands are not known");
    if (p->label_count > GPU_EINSUM_AXES || p->operand_count > GPU_EINSUM_OPERANDS)
        return tort_no(TORT_NO_ATTR, "", "the equation has %d labels and %d operands, the kernel takes up to %d and %d",
                       (int)p->label_count, (int)p->operand_count, GPU_EINSUM_AXES, GPU_EINSUM_OPERANDS);
    return tort_cuda_claim_real(target, node);
}

/* ---- as a batch of products -------------------------------------------------------------------------------------- */

/* Takes the loop that is outermost in the output. */
static tort_einsum_axis take_outermost(tort_einsum_axes *loops) {
    int32_t at = 0;
    for (int32_t i = 1; i < loops->count; i++)
        if (loops->axes[i].c > loops->axes[at].c) at = i;
    const tort_einsum_axis outermost = loops->axes[at];
    loops->axes[at] = loops->axes[--loops->count];
    return outermost;
}

/* Fills the loops as dimensions of the batch. False: the output is not one matrix behind the other. */
static bool set_batch(const tort_einsum_product *product, gpu_matmul *p) {
    tort_einsum_axes loops = product->loops;
    int64_t left = tort_einsum_count(&loops) * p->m * p->n;
    if (loops.count > TORT_MAX_RANK || (p->n > 1 && product->column.c != 1) || (p->m > 1 && product->row.c != p->n))
        return false;
    p->batches = 1;
    while (loops.count) {
        const tort_einsum_axis loop = take_outermost(&loops);
        const int32_t i = p->batch_rank++;
        if (!loop.size || loop.c != left / loop.size) return false;
        left = loop.c;
        p->batches *= loop.size;
        p->batch_dims[i] = loop.size;
        p->a_batch[i] = loop.a;
        p->b_batch[i] = loop.b;
    }
    return true;
}

/* Tiles of bfloat16 need tensor cores that not all devices have. */
static bool has_tiles(tort_type type) {
    return type == TORT_FLOAT || type == TORT_FLOAT16;
}

/* True if there is such a batch. */
static bool as_batch(const tort_einsum_product *product, tort_type type, gpu_matmul *p) {
    *p = (gpu_matmul){.m = product->row.size,
                      .n = product->column.size,
                      .k = product->depth.size,
                      .a_row = product->row.a,
                      .a_column = product->depth.a,
                      .b_row = product->depth.b,
                      .b_column = product->column.b,
                      .alpha = 1.0f};
    return has_tiles(type) && product->sums.count == 0 && p->m > 0 && p->n > 0 && set_batch(product, p);
}

static gpu_tiling tiling_of(gpu_board board, tort_type type, const gpu_matmul *p) {
    return tort_cuda_tiling_of(board, gpu_unit_of(gpu_product_type_of(board, type)), p->m, p->n, p->k, p->batches);
}

static tort_status size(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    const tort_type type = node->inputs[0].type;
    tort_einsum_product product;
    gpu_matmul p;
    (void)error;
    tort_einsum_product_of(node->params, &product);
    *scratch = as_batch(&product, type, &p) ? tiling_of(tort_cuda_board_of(target), type, &p).scratch : 0;
    return TORT_OK;
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

#ifdef CUDA_DEVICE
static tort_status prepare(tort_prepare *prepare) {
    const tort_type type = prepare->node->inputs[0].type;
    const tort_status status = cuda_loaded(prepare, gpu_load_einsum(gpu_type_of(type)));
    return status || !has_tiles(type) ? status : cuda_loaded(prepare, gpu_load_matmul(cuda_prepared_type(prepare)));
}

static gpu_einsum_axis axis_of(const tort_einsum_axis *axis) {
    return (gpu_einsum_axis){axis->size, axis->a, axis->b, axis->c};
}

static gpu_einsum_axes axes_of(const tort_einsum_axes *from) {
    gpu_einsum_axes axes = {.count = from->count, .total = (uint64_t)tort_einsum_count(from)};
    for (int32_t i = 0; i < from->count; i++) {
        axes.divisors[i] = gpu_divisor_of(from->axes[i].size, axes.total);
        axes.a[i] = from->axes[i].a;
        axes.b[i] = from->axes[i].b;
        axes.c[i] = from->axes[i].c;
    }
    return axes;
}

static tort_status run(const tort_call *call) {
    const cuda_stream *stream = call->stream;
    const tort_type type = call->inputs[0].type;
    tort_einsum_product product;
    gpu_matmul p;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    tort_einsum_product_of(call->params, &product);
    const void *a = call->inputs[product.swapped].data, *b = call->inputs[!product.swapped].data;
    if (as_batch(&product, type, &p)) {
        const gpu_tiling tiling = tiling_of(stream->device->board, type, &p);
        const gpu_matmul_operands operands = {.a = a, .b = b, .y = call->outputs[0].data};
        const gpu_parts parts = {call->scratch, stream->arrivals};
        return cuda_launched(
            call, gpu_run_matmul(cuda_stream_of(call), cuda_product_type(call), &p, &operands, &tiling, &parts));
    }
    const gpu_einsum einsum = {.row = axis_of(&product.row),
                               .column = axis_of(&product.column),
                               .depth = axis_of(&product.depth),
                               .loops = axes_of(&product.loops),
                               .sums = axes_of(&product.sums),
                               .a = a,
                               .b = b,
                               .y = call->outputs[0].data};
    return cuda_launched(call, gpu_run_einsum(cuda_stream_of(call), gpu_type_of(type), &einsum));
}

static tort_status prepare_any(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_einsum_any(gpu_type_of(p->node->inputs[0].type)));
}

/* Puts label l behind the others. */
static void add_label(gpu_einsum_any *e, const tort_einsum_params *p, int32_t l, uint64_t total) {
    e->divisors[e->labels] = gpu_divisor_of(p->sizes[l], total);
    e->y_strides[e->labels] = p->output.strides[l];
    for (int32_t o = 0; o < e->operands; o++) e->strides[o][e->labels] = p->operands[o].strides[l];
    e->labels++;
}

static tort_status run_any(const tort_call *call) {
    const tort_einsum_params *p = call->params;
    gpu_einsum_any e = {.operands = p->operand_count,
                        .outputs = (uint64_t)tort_count(&call->outputs[0]),
                        .sums = 1,
                        .inner = 1,
                        .y = call->outputs[0].data};
    int32_t last = -1;
    for (int32_t o = 0; o < p->operand_count; o++) e.x[o] = call->inputs[o].data;
    for (int32_t l = 0; l < p->label_count; l++) {
        if (p->in_output[l])
            add_label(&e, p, l, e.outputs);
        else
            e.sums *= last < 0 ? 1 : (uint64_t)p->sizes[last], last = l;
    }
    e.kept = e.labels;
    for (int32_t l = 0; l < last; l++)
        if (!p->in_output[l]) add_label(&e, p, l, e.sums);
    for (int32_t o = 0; last >= 0 && o < e.operands; o++) e.steps[o] = p->operands[o].strides[last];
    if (last >= 0) e.inner = p->sizes[last];
    if (!e.outputs) return TORT_OK;
    return cuda_launched(call, gpu_run_einsum_any(cuda_stream_of(call), gpu_type_of(call->inputs[0].type), &e));
}
#endif

/* ---- rows -------------------------------------------------------------------------------------------------------- */

const tort_kernel tort_cuda_einsum_kernels[] = {
    {"", "Einsum", "einsum", .claim = claim, .size = size, .prepare = CUDA_ONLY(prepare), .run = CUDA_ONLY(run)},
    {"", "Einsum", "einsum_any", .claim = claim_any, .prepare = CUDA_ONLY(prepare_any), .run = CUDA_ONLY(run_any)},
    {.op = NULL},
};
