/* heads.c - shared by the resolve functions of com.microsoft's attention operators: masks and biases of scores. Read
 * next: ops/heads.h. */
#include "ops/microsoft/heads.h"

#include <float.h>

tort_dim tort_heads_divide(tort_dims *dims, tort_dim dim, int64_t heads) {
    return tort_dim_known(dim) ? dim / heads : tort_dim_floordiv(dims, dim, heads);
}

tort_status tort_heads_expect(const tort_resolve *resolve, int32_t input, const char *name, int32_t rank,
                              const int64_t *dims) {
    if (!tort_has_input(resolve->node, input)) return TORT_OK;
    const tort_info *info = &resolve->node->inputs[input];
    bool fits = info->rank == rank;
    for (int32_t d = 0; fits && d < rank; d++) fits = dims[d] < 0 || info->dims[d] == dims[d];
    if (fits) return TORT_OK;
    return tort_fail(resolve->error, TORT_E_MODEL, "%s has not the shape that the other inputs and the heads ask for",
                     name);
}

/* ---- biases and masks of scores ---------------------------------------------------------------------------------- */

tort_status tort_heads_read_score_bias(const tort_resolve *resolve, tort_heads_params *p, int32_t input) {
    const tort_info *bias = &resolve->node->inputs[input];
    if (!tort_has_input(resolve->node, input)) return TORT_OK;
    const int64_t batch = bias->rank == 4 && bias->dims[0] == 1 ? 1 : p->batch;
    const int64_t heads = bias->rank == 4 && bias->dims[1] == 1 ? 1 : p->query_heads;
    /* The number of keys may be known only at run time. */
    const bool open = p->lengths >= 0 || p->past_count >= 0;
    const int64_t wanted[4] = {batch, heads, p->queries, open ? -1 : tort_heads_capacity(p)};
    tort_status status = tort_heads_expect(resolve, input, "attention_bias", 4, wanted);
    if (status) return status;
    const int64_t matrix = bias->dims[2] * bias->dims[3];
    p->score_bias = input;
    p->score_bias_strides.batch = batch == 1 ? 0 : bias->dims[1] * matrix;
    p->score_bias_strides.head = heads == 1 ? 0 : matrix;
    p->score_bias_strides.position = bias->dims[3];
    p->score_bias_strides.element = 1;
    return TORT_OK;
}

/* Reads a mask with one number per batch entry, the end of its keys. More may follow: their starts, or numbers for
 * other kernels. */
static tort_status read_ends(const tort_resolve *resolve, tort_heads_params *p, const tort_info *mask) {
    const int64_t count = mask->dims[0];
    p->mask_kind = count == 2 * p->batch ? TORT_HEADS_INTERVAL : TORT_HEADS_ENDS;
    if (count == p->batch || count == 2 * p->batch || count == 3 * p->batch + 2) return TORT_OK;
    return tort_fail(resolve->error, TORT_E_MODEL, "the mask has %lld numbers; expected %lld, %lld or %lld",
                     (long long)count, (long long)p->batch, (long long)(2 * p->batch), (long long)(3 * p->batch + 2));
}

tort_status tort_heads_read_mask(const tort_resolve *resolve, tort_heads_params *p, int32_t input, const char *name) {
    const tort_info *mask = &resolve->node->inputs[input];
    if (!tort_has_input(resolve->node, input)) return TORT_OK;
    p->mask = input;
    p->mask_kind = TORT_HEADS_ELEMENTS;
    const int64_t keys = p->past_count >= 0 && mask->rank > 1 ? mask->dims[mask->rank - 1] : tort_heads_capacity(p);
    const int64_t wanted2[2] = {p->batch, keys}, wanted3[3] = {p->batch, p->queries, keys};
    if (mask->rank == 1) return read_ends(resolve, p, mask);
    p->mask_strides[2] = 1;
    if (mask->rank == 4) {
        const int64_t max = mask->dims[3], wanted4[4] = {p->batch, 1, max, max};
        p->mask_strides[0] = max * max;
        p->mask_strides[1] = max;
        p->mask_offset = p->past_length * max;
        if (max < tort_heads_capacity(p) || p->past_length + p->queries > max || p->past_count >= 0)
            return tort_fail(resolve->error, TORT_E_MODEL, "%s is for %lld keys; there are %lld", name, (long long)max,
                             (long long)tort_heads_capacity(p));
        return tort_heads_expect(resolve, input, name, 4, wanted4);
    }
    p->mask_strides[0] = mask->rank == 3 ? p->queries * keys : keys;
    p->mask_strides[1] = mask->rank == 3 ? keys : 0;
    return tort_heads_expect(resolve, input, name, mask->rank == 3 ? 3 : 2, mask->rank == 3 ? wanted3 : wanted2);
}

tort_status tort_heads_settle_microsoft(tort_resolve *resolve) {
    tort_heads_params *p = resolve->params;
    p->last_is_all = p->lengths < 0;
    p->scores_all = p->lengths < 0 && (p->mask_kind != TORT_HEADS_NO_MASK || p->score_bias >= 0 || p->scores >= 0);
    p->hidden = (double)-FLT_MAX;
    return tort_heads_settle(resolve);
}
