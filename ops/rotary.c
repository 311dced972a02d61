/* rotary.c - RotaryEmbedding, of ONNX and of com.microsoft: rotates pairs of elements of a head by angles that depend
 * on the position.
 *
 * The caches hold cosines and sines: position_ids select a row for each (batch, position); without them the caches have
 * one. In com.microsoft position_ids are always present, and may be a single number: the first position of every
 * sequence. */
#include "ops/rotary.h"
#include "ops/index.h"
#include "ops/strided.h"

enum { X }; /* the first input */

static bool is_microsoft(const tort_node_view *node) {
    return *node->op->domain != 0;
}

/* Reads the sizes of X, whose heads are an axis, or packed with their elements (rank 3). */
static tort_status resolve_heads(tort_resolve *resolve, tort_rotary_params *params) {
    const tort_info *x = &resolve->node->inputs[X];
    const bool packed = x->rank == 3;
    if (!packed && x->rank != 4)
        return tort_fail(resolve->error, TORT_E_MODEL, "X has rank %d; expected 3 or 4", x->rank);
    params->heads = packed ? tort_attr_int(resolve->node, "num_heads") : x->dims[1];
    /* com.microsoft without num_heads: a row of the caches is half as long as a head. */
    const int64_t cached = 2 * resolve->node->inputs[params->cosines].dims[1];
    if (packed && is_microsoft(resolve->node) && params->heads == 0 && cached > 0 && x->dims[2] % cached == 0)
        params->heads = x->dims[2] / cached;
    if (packed && (params->heads < 1 || x->dims[2] % params->heads != 0))
        return tort_fail(resolve->error, TORT_E_MODEL, "num_heads %lld does not divide the %lld elements of a position",
                         (long long)params->heads, (long long)x->dims[2]);
    params->batch = x->dims[0];
    params->length = packed ? x->dims[1] : x->dims[2];
    params->size = packed ? x->dims[2] / params->heads : x->dims[3];
    const int64_t all = params->heads * params->length * params->size;
    if (packed)
        params->strides = (tort_head_strides){all, params->size, x->dims[2], 1};
    else
        params->strides = (tort_head_strides){all, params->length * params->size, params->size, 1};
    return TORT_OK;
}

static tort_status resolve_rotated(tort_resolve *resolve, tort_rotary_params *params) {
    params->rotated = tort_attr_int(resolve->node, "rotary_embedding_dim");
    if (params->rotated == 0) params->rotated = params->size;
    if (params->rotated >= 0 && params->rotated <= params->size && params->rotated % 2 == 0) return TORT_OK;
    return tort_fail(resolve->error, TORT_E_MODEL, "%lld elements of %lld are to be rotated; expected an even number",
                     (long long)params->rotated, (long long)params->size);
}

static tort_status check_caches(const tort_resolve *resolve, const tort_rotary_params *params) {
    const tort_node_view *node = resolve->node;
    const tort_info *cosines = &node->inputs[params->cosines], *sines = &node->inputs[params->sines];
    const bool chosen = tort_has_input(node, (int32_t)params->positions);
    bool fits = cosines->rank == (chosen ? 2 : 3) && sines->rank == cosines->rank;
    for (int32_t d = 0; fits && d < cosines->rank; d++) fits = sines->dims[d] == cosines->dims[d];
    fits = fits && cosines->dims[cosines->rank - 1] == params->rotated / 2;
    fits = fits && (chosen || (cosines->dims[0] == params->batch && cosines->dims[1] == params->length));
    if (fits) return TORT_OK;
    return tort_fail(resolve->error, TORT_E_MODEL, "cos_cache and sin_cache must have shape [%s, %lld]",
                     chosen ? "positions" : "batch, length", (long long)(params->rotated / 2));
}

static tort_status check_positions(const tort_resolve *resolve, tort_rotary_params *params) {
    const tort_node_view *node = resolve->node;
    const tort_info *positions = &node->inputs[params->positions];
    if (!tort_has_input(node, (int32_t)params->positions) || !tort_shape_known(positions)) return TORT_OK;
    params->first_only = is_microsoft(node) && positions->rank == 1 && positions->dims[0] == 1;
    if (params->first_only) return TORT_OK;
    if (positions->rank != 2 || positions->dims[0] != params->batch || positions->dims[1] != params->length)
        return tort_fail(resolve->error, TORT_E_MODEL, "position_ids must have shape [%lld, %lld]%s",
                         (long long)params->batch, (long long)params->length, is_microsoft(node) ? " or [1]" : "");
    return TORT_OK;
}

static tort_status resolve_rotary(tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    tort_rotary_params *params = resolve->params;
    params->interleaved = tort_attr_int(node, "interleaved") != 0;
    params->cosines = is_microsoft(node) ? 2 : 1;
    params->sines = params->cosines + 1;
    params->positions = is_microsoft(node) ? 1 : 3;
    const tort_info *cosines = &node->inputs[params->cosines];
    if (!tort_shape_known(&node->inputs[X]) || !tort_shape_known(cosines) ||
        !tort_shape_known(&node->inputs[params->sines]))
        return TORT_OK;
    if (is_microsoft(node) && cosines->rank != 2)
        return tort_fail(resolve->error, TORT_E_MODEL, "cos_cache has rank %d; expected 2", cosines->rank);
    tort_status status = resolve_heads(resolve, params);
    if (!status) status = resolve_rotated(resolve, params);
    if (!status) status = check_caches(resolve, params);
    if (!status) status = check_positions(resolve, params);
    if (!status) params->cache_length = cosines->dims[0];
    return status;
}

/* Position of item (batch, position), as position_ids give it. */
static int64_t given_position(const tort_call *call, const tort_tensor *positions, int64_t item) {
    const tort_rotary_params *params = call->params;
    if (!params->first_only) return tort_index_at(positions, item);
    /* Unsigned, since a position that is not checked yet may overflow. */
    return (int64_t)((uint64_t)tort_index_at(positions, 0) + (uint64_t)(item % params->length));
}

int64_t tort_rotary_row(const tort_call *call, int64_t item) {
    const tort_rotary_params *params = call->params;
    const tort_tensor *positions = tort_call_input(call, (int32_t)params->positions);
    return positions ? tort_index_within(given_position(call, positions, item), params->cache_length) : item;
}

tort_status tort_rotary_check(const tort_call *call) {
    const tort_rotary_params *params = call->params;
    const tort_tensor *positions = tort_call_input(call, (int32_t)params->positions);
    for (int64_t i = 0; positions && i < params->batch * params->length; i++) {
        if (!tort_row_goes_on(call->watch, i)) return tort_run_is_over(call->error);
        const int64_t position = given_position(call, positions, i);
        if (position < 0 || position >= params->cache_length)
            return tort_fail(call->error, TORT_E_RUN, "position_ids[%lld, %lld] is %lld; the caches have %lld rows",
                             (long long)(i / params->length), (long long)(i % params->length), (long long)position,
                             (long long)params->cache_length);
    }
    return TORT_OK;
}

/* Rotates items (batch, position) begin .. end-1. */
static void rotate_positions(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    const tort_rotary_params *params = call->params;
    const tort_tensor *x = &call->inputs[X], *y = &call->outputs[0];
    const tort_tensor *cosines = &call->inputs[params->cosines], *sines = &call->inputs[params->sines];
    const int64_t half = params->rotated / 2;
    int64_t done = 0;
    for (int64_t item = begin; item < end; item++) {
        int64_t row = tort_rotary_row(call, item);
        int64_t base = item / params->length * params->strides.batch + item % params->length * params->strides.position;
        for (int64_t h = 0; h < params->heads; h++) {
            const int64_t head = base + h * params->strides.head;
            for (int64_t i = 0; i < half; i++) {
                if (!tort_work_goes_on(call->watch, &done, 8)) return;
                int64_t first = head + (params->interleaved ? 2 * i : i);
                int64_t second = params->interleaved ? first + 1 : first + half;
                double cosine = tort_element_at(cosines, row * half + i);
                double sine = tort_element_at(sines, row * half + i);
                double a = tort_element_at(x, first), b = tort_element_at(x, second);
                double real = cosine * a - sine * b, imaginary = sine * a + cosine * b;
                tort_store_doubles(y->type, y->data, first, 1, &real);
                tort_store_doubles(y->type, y->data, second, 1, &imaginary);
            }
            if (!tort_copy_run(call->watch, &done, x->type, y->data, head + params->rotated, x->data,
                               head + params->rotated, params->size - params->rotated))
                return;
        }
    }
}

static tort_status rotary(const tort_call *call) {
    const tort_rotary_params *params = call->params;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    const tort_status status = tort_rotary_check(call);
    if (status) return status;
    tort_parallel(call, params->batch * params->length, params->heads * params->size * 10, rotate_positions,
                  (void *)call);
    return TORT_OK;
}

const tort_op tort_ops_rotary[] = {
    {"", "RotaryEmbedding", 23, TORT_NEWEST_OPSET, "X:T cos_cache:T sin_cache:T position_ids?:M", "Y:T",
     "T=floats13|-double M=int64", "interleaved:int=0 num_heads:int rotary_embedding_dim:int=0",
     .params_size = sizeof(tort_rotary_params), tort_infer_elementwise, resolve_rotary, rotary},
    {"com.microsoft", "RotaryEmbedding", 1, 1, "input:T position_ids:M cos_cache:T sin_cache:T", "output:T",
     "T=float|float16|bfloat16 M=int64",
     "interleaved:int is_packed_batching:int num_heads:int rotary_embedding_dim:int scale:float",
     .params_size = sizeof(tort_rotary_params), tort_infer_elementwise, resolve_rotary, rotary},
    {0},
};
