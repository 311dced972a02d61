/* gather_block_quantized.c - GatherBlockQuantized: slices of a table that is quantized in blocks, as floats.
 *
 * A table of uint8 has 2, 4 or 8 bits per number, packed along its last dimension; a table of small floats has no zero
 * points, and may have one scale for a whole dimension. An index out of range gives zeros, as in ONNX Runtime. */
#include "ops/microsoft/gather_block_quantized.h"

#include <inttypes.h>

#include "ops/extent.h"
#include "ops/shapes.h"

enum { DATA, INDICES, SCALES, ZEROS };

/* ---- infer and resolve ------------------------------------------------------------------------------------------- */

static tort_status read_bits(const tort_node_view *node, tort_gather_block *p, tort_error *error) {
    const int64_t bits = tort_attr_int(node, "bits");
    p->type = node->inputs[DATA].type;
    p->zero = 0;
    if (p->type != TORT_UINT8) return TORT_OK;
    if (bits != 2 && bits != 4 && bits != 8)
        return tort_fail(error, TORT_E_MODEL, "bits is %" PRId64 ", expected 2, 4 or 8", bits);
    p->type = bits == 2 ? TORT_UINT2 : bits == 4 ? TORT_UINT4 : TORT_UINT8;
    p->zero = (float)(1 << (bits - 1));
    return TORT_OK;
}

static tort_status read_block(const tort_node_view *node, tort_gather_block *p, tort_error *error) {
    const bool floats = tort_type_is_float(p->type);
    p->block = tort_attr_int(node, "block_size");
    if (floats && tort_has_input(node, ZEROS))
        return tort_fail(error, TORT_E_MODEL, "zero_points are given, but data is of floats");
    if ((floats && p->block == 0) || (p->block >= 16 && !(p->block & (p->block - 1)))) return TORT_OK;
    return tort_fail(error, TORT_E_MODEL, "block_size is %" PRId64 ", expected a power of two from 16 on", p->block);
}

/* Numbers per byte of a packed table, whose last dimension counts bytes; 1 for all others. */
static int64_t packed(const tort_node_view *node, const tort_gather_block *p) {
    return node->inputs[DATA].type == TORT_UINT8 ? 8 / (int64_t)tort_type_bits(p->type) : 1;
}

static tort_status read_axes(const tort_node_view *node, tort_gather_block *p, tort_error *error) {
    const tort_info *data = &node->inputs[DATA];
    p->rank = data->rank;
    if (data->rank == 0) return tort_fail(error, TORT_E_MODEL, "data is a scalar, expected rank 1 or more");
    tort_status status = tort_normalize_axis(error, tort_attr_int(node, "gather_axis"), data->rank, &p->gather_axis);
    if (status == TORT_OK)
        status = tort_normalize_axis(error, tort_attr_int(node, "quantize_axis"), data->rank, &p->quantize_axis);
    if (status != TORT_OK || data->type != TORT_UINT8) return status;
    if (p->gather_axis != 0)
        return tort_fail(error, TORT_E_MODEL, "gather_axis is %d, but data of uint8 is gathered along axis 0",
                         (int)p->gather_axis);
    if (p->type != TORT_UINT8 && p->quantize_axis == p->gather_axis)
        return tort_fail(error, TORT_E_MODEL, "gather_axis and quantize_axis are both %d, but numbers are packed",
                         (int)p->gather_axis);
    return TORT_OK;
}

static tort_status read_params(const tort_node_view *node, tort_gather_block *p, tort_error *error) {
    tort_status status = read_bits(node, p, error);
    if (status == TORT_OK) status = read_block(node, p, error);
    if (status != TORT_OK || node->inputs[DATA].rank < 0) return status;
    status = read_axes(node, p, error);
    for (int32_t d = 0; d < p->rank && status == TORT_OK; d++) {
        p->dims[d] = tort_known_dim(&node->inputs[DATA], d);
        if (d == p->rank - 1 && p->dims[d] >= 0)
            status = tort_size_mul(error, p->dims[d], packed(node, p), &p->dims[d]);
    }
    return status;
}

/* Checks that scales or zero points have an element for each block. */
static tort_status check_blocks(const tort_infer *infer, const tort_gather_block *p, int32_t i, const char *name) {
    const tort_node_view *node = infer->node;
    const tort_info *info = &node->inputs[i];
    if (!tort_has_input(node, i) || info->rank < 0) return TORT_OK;
    if (info->rank != p->rank)
        return tort_fail(infer->error, TORT_E_MODEL, "%s has rank %d, expected that of data, %d", name, (int)info->rank,
                         (int)p->rank);
    for (int32_t d = 0; d < p->rank; d++) {
        const int64_t found = tort_known_dim(info, d), per_byte = i == ZEROS ? packed(node, p) : 1;
        int64_t wanted = p->dims[d];
        if (found < 0 || wanted < 0) continue;
        if (d == p->quantize_axis) wanted = p->block == 0 ? wanted > 0 : (wanted + p->block - 1) / p->block;
        if (d == p->rank - 1) wanted = (wanted + per_byte - 1) / per_byte;
        if (found == wanted || (found == 1 && d != p->quantize_axis && tort_type_is_float(p->type))) continue;
        return tort_fail(infer->error, TORT_E_MODEL,
                         "%s has %" PRId64 " elements along dimension %d, expected %" PRId64, name, found, (int)d,
                         wanted);
    }
    return TORT_OK;
}

static tort_status infer_gather(tort_infer *infer) {
    const tort_node_view *node = infer->node;
    const tort_info *data = &node->inputs[DATA], *indices = &node->inputs[INDICES];
    tort_gather_block p = {.rank = 0};
    tort_dim dims[2 * TORT_MAX_RANK];
    infer->outputs[0].type = node->inputs[SCALES].type;
    tort_status status = read_params(node, &p, infer->error);
    if (status != TORT_OK || data->rank < 0) return status;
    status = check_blocks(infer, &p, SCALES, "scales");
    if (status == TORT_OK) status = check_blocks(infer, &p, ZEROS, "zero_points");
    if (status != TORT_OK || indices->rank < 0) return status;
    int32_t rank = 0;
    for (int32_t d = 0; d < p.rank; d++) {
        for (int32_t i = 0; d == p.gather_axis && i < indices->rank; i++) dims[rank++] = indices->dims[i];
        if (d != p.gather_axis) dims[rank++] = p.dims[d] >= 0 ? p.dims[d] : tort_dim_fresh(infer->dims, true);
    }
    status = tort_check_rank(infer->error, rank);
    if (status == TORT_OK) tort_infer_shape(infer, 0, infer->outputs[0].type, rank, dims);
    return status;
}

/* Strides of scales or zero points, in elements; 0 along dimensions with a single block. */
static void read_strides(const tort_info *info, int64_t per_byte, int64_t *strides) {
    int64_t stride = 1;
    for (int32_t d = info->rank - 1; d >= 0; d--) {
        const int64_t size = d == info->rank - 1 ? info->dims[d] * per_byte : info->dims[d];
        strides[d] = info->dims[d] == 1 && per_byte == 1 ? 0 : stride;
        stride *= size;
    }
}

static tort_status resolve_gather(tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    tort_gather_block *p = resolve->params;
    tort_status status = read_params(node, p, resolve->error);
    if (status != TORT_OK) return status;
    if (tort_shape_known(&node->inputs[SCALES])) read_strides(&node->inputs[SCALES], 1, p->scale_strides);
    if (tort_has_input(node, ZEROS) && tort_shape_known(&node->inputs[ZEROS]))
        read_strides(&node->inputs[ZEROS], packed(node, p), p->zero_strides);
    if (p->block == 0 && p->rank > 0 && p->dims[p->quantize_axis] > 0) p->block = p->dims[p->quantize_axis];
    return TORT_OK;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

typedef struct gather_job {
    const tort_call *call;
    const tort_gather_block *params;
    int64_t size, inner, index_count;
} gather_job;

/* Index of the scale or zero point of the number at `place` of the table. */
static int64_t block_at(const tort_gather_block *p, const int64_t *strides, int64_t place) {
    int64_t at = 0;
    for (int32_t d = p->rank - 1; d >= 0; d--) {
        const int64_t coordinate = place % p->dims[d];
        place /= p->dims[d];
        at += (d == p->quantize_axis ? coordinate / p->block : coordinate) * strides[d];
    }
    return at;
}

/* Dequantizes numbers place .. place+count-1 of the table, which lie in one row of it; at most TORT_BLOCK. */
static void dequantize(const gather_job *job, int64_t place, int64_t count, float *out) {
    const tort_gather_block *p = job->params;
    const tort_tensor *in = job->call->inputs, *zeros = tort_call_input(job->call, ZEROS);
    const bool along = p->quantize_axis == p->rank - 1;
    tort_load_floats(p->type, in[DATA].data, place, count, out);
    for (int64_t i = 0; i < count;) {
        const int64_t column = (place + i) % p->dims[p->rank - 1];
        int64_t run = along ? p->block - column % p->block : 1;
        float scale, zero = p->zero;
        if (run > count - i) run = count - i;
        tort_load_floats(in[SCALES].type, in[SCALES].data, block_at(p, p->scale_strides, place + i), 1, &scale);
        if (zeros) tort_load_floats(p->type, zeros->data, block_at(p, p->zero_strides, place + i), 1, &zero);
        for (int64_t k = i; k < i + run; k++) out[k] = (out[k] - zero) * scale;
        i += run;
    }
}

static void gather_slices(void *arg, int64_t begin, int64_t end) {
    const gather_job *job = arg;
    const tort_gather_block *p = job->params;
    const tort_tensor *indices = &job->call->inputs[INDICES], *y = &job->call->outputs[0];
    const int64_t row = p->gather_axis == p->rank - 1 ? 1 : p->dims[p->rank - 1];
    float block[TORT_BLOCK];
    int64_t done = 0;
    for (int64_t slice = begin; slice < end; slice++) {
        int64_t index;
        tort_load_integers(indices->type, indices->data, slice % job->index_count, 1, &index);
        if (index < 0) index += job->size;
        const bool inside = index >= 0 && index < job->size;
        const int64_t place = inside ? (slice / job->index_count * job->size + index) * job->inner : 0;
        for (int64_t at = 0; at < job->inner;) {
            int64_t count = row - at % row;
            if (count > TORT_BLOCK) count = TORT_BLOCK;
            if (!tort_work_goes_on(job->call->watch, &done, 16 + count)) return;
            if (inside)
                dequantize(job, place + at, count, block);
            else
                memset(block, 0, sizeof block);
            tort_store_floats(y->type, y->data, slice * job->inner + at, count, block);
            at += count;
        }
    }
}

static tort_status run_gather(const tort_call *call) {
    const tort_gather_block *p = call->params;
    gather_job job = {.call = call, .params = p, .index_count = tort_count(&call->inputs[INDICES])};
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    job.size = p->dims[p->gather_axis];
    job.inner = tort_extent(p->dims, p->gather_axis + 1, p->rank);
    const int64_t outer = tort_extent(p->dims, 0, p->gather_axis);
    tort_parallel(call, outer * job.index_count, 2 * job.inner, gather_slices, &job);
    return TORT_OK;
}

const tort_op tort_ops_gather_block_quantized[] = {
    {"com.microsoft", "GatherBlockQuantized", 1, 1, "data:T1 indices:Tind scales:T2 zero_points?:T1", "output:T2",
     "T1=int4|uint4|uint8|float8e4m3fn|float8e4m3fnuz|float8e5m2|float8e5m2fnuz|float4e2m1 "
     "T2=float|float16|bfloat16 Tind=int32|int64",
     "bits:int=4 block_size:int=128 gather_axis:int=0 quantize_axis:int=1", .flags = TORT_OP_PICKS,
     .params_size = sizeof(tort_gather_block), infer_gather, resolve_gather, run_gather},
    {0},
};
