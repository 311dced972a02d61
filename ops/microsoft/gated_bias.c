/* gated_bias.c - com.microsoft: GatedRelativePositionBias, a bias of scores by the distance of their positions, which
 * each query scales by two gates. From WavLM (arXiv 2110.13900).
 *
 * A gate is the sigmoid of a sum: of the products of a head of the query, plus its bias, with all columns of one half
 * of the weight. The columns of a half are therefore added up once. ONNX Runtime has a kernel for GPUs only, which this
 * follows. */
#include "ops/extent.h"
#include "ops/shapes.h"

#include <math.h>

enum { QUERY, QUERY_BIAS, POSITIONS, WEIGHT, BIAS, SCALE, TOKENS }; /* inputs */

typedef struct gated_params {
    int64_t batch, length, heads, size; /* of a head */
    int64_t columns;                    /* of the weight */
} gated_params;

static tort_status expect(tort_error *error, const tort_info *info, const char *name, int32_t rank,
                          const int64_t *dims) {
    if (info->rank < 0) return TORT_OK;
    if (info->rank != rank)
        return tort_fail(error, TORT_E_MODEL, "%s has rank %d; expected %d", name, (int)info->rank, (int)rank);
    for (int32_t d = 0; d < rank; d++) {
        const int64_t found = tort_known_dim(info, d);
        if (found >= 0 && dims[d] >= 0 && found != dims[d])
            return tort_fail(error, TORT_E_MODEL, "%s has %lld elements along axis %d; expected %lld", name,
                             (long long)found, (int)d, (long long)dims[d]);
    }
    return TORT_OK;
}

/* Reads and checks the sizes; those that are not known are -1. */
static tort_status read_sizes(const tort_node_view *node, gated_params *p, tort_error *error) {
    const tort_info *in = node->inputs;
    p->batch = tort_known_dim(&in[QUERY], 0);
    p->length = tort_known_dim(&in[QUERY], 1);
    p->heads = tort_attr_int(node, "num_heads");
    p->size = tort_known_dim(&in[WEIGHT], 0);
    p->columns = tort_known_dim(&in[WEIGHT], 1);
    if (tort_has_input(node, TOKENS))
        return tort_fail(error, TORT_E_UNSUPPORTED,
                         "token_offset says that padding was removed; export the model without RemovePadding");
    if (p->heads < 1)
        return tort_fail(error, TORT_E_MODEL, "num_heads is %lld; expected 1 or more", (long long)p->heads);
    if (p->columns % 2 > 0)
        return tort_fail(error, TORT_E_MODEL, "the weight has %lld columns; expected an even number",
                         (long long)p->columns);
    int64_t hidden = -1;
    tort_status status = p->size < 0 ? TORT_OK : tort_size_mul(error, p->heads, p->size, &hidden);
    const int64_t query[3] = {-1, -1, hidden}, positions[4] = {1, p->heads, p->length, p->length};
    const int64_t weight[2] = {-1, -1}, scale[4] = {1, p->heads, 1, 1};
    if (!status) status = expect(error, &in[QUERY], "query_layer", 3, query);
    if (!status) status = expect(error, &in[QUERY_BIAS], "query_bias", 1, &hidden);
    if (!status) status = expect(error, &in[POSITIONS], "rel_pos", 4, positions);
    if (!status) status = expect(error, &in[WEIGHT], "weight", 2, weight);
    if (!status) status = expect(error, &in[BIAS], "bias", 1, &p->columns);
    return status ? status : expect(error, &in[SCALE], "eco_a", 4, scale);
}

static tort_status infer_gated(tort_infer *infer) {
    const tort_info *query = &infer->node->inputs[QUERY];
    gated_params p;
    infer->outputs[0].type = query->type;
    tort_status status = read_sizes(infer->node, &p, infer->error);
    if (status || query->rank < 0) return status;
    const tort_dim dims[4] = {query->dims[0], p.heads, query->dims[1], query->dims[1]};
    tort_infer_shape(infer, 0, query->type, 4, dims);
    return TORT_OK;
}

static tort_status resolve_gated(tort_resolve *resolve) {
    gated_params *p = resolve->params;
    for (int32_t i = 0; i < TOKENS; i++)
        if (!tort_shape_known(&resolve->node->inputs[i])) return TORT_OK;
    tort_status status = read_sizes(resolve->node, p, resolve->error);
    if (status) return status;
    size_t floats = 0;
    const bool fits = tort_mul_size((uint64_t)p->size, 2, &floats) && tort_add_size(floats, 2, &floats) &&
                      tort_mul_size(floats, sizeof(float), &resolve->scratch_bytes);
    return fits ? TORT_OK : tort_fail(resolve->error, TORT_E_MEMORY, "the sums of the weight do not fit in memory");
}

static float at(const tort_tensor *tensor, int64_t i) {
    return (float)tort_element_at(tensor, i);
}

/* Sums both halves of each row of `columns`; 2 sums a row. */
static void add_halves(const tort_call *call, const tort_tensor *tensor, int64_t rows, int64_t columns, float *sums) {
    int64_t done = 0;
    for (int64_t row = 0; row < rows; row++, sums += 2) {
        sums[0] = sums[1] = 0;
        for (int64_t j = 0; j < columns; j++) {
            if (!tort_work_goes_on(call->watch, &done, 1)) return;
            sums[j >= columns / 2] += at(tensor, row * columns + j);
        }
    }
}

static float sigmoid(float x) {
    return 1 / (1 + expf(-x));
}

/* Factor of the biases of one query; `row` counts (batch, head, position). */
static float gate_of(const tort_call *call, int64_t row) {
    const gated_params *p = call->params;
    const float *sums = call->scratch;
    const int64_t position = row % p->length, head = row / p->length % p->heads, entry = row / p->length / p->heads;
    const int64_t first = ((entry * p->length + position) * p->heads + head) * p->size;
    float update = sums[2 * p->size], reset = sums[2 * p->size + 1];
    for (int64_t i = 0; i < p->size && tort_row_goes_on(call->watch, i); i++) {
        const float q = at(&call->inputs[QUERY], first + i) + at(&call->inputs[QUERY_BIAS], head * p->size + i);
        update += q * sums[2 * i];
        reset += q * sums[2 * i + 1];
    }
    return sigmoid(update) * (sigmoid(reset) * at(&call->inputs[SCALE], head) - 1) + 2;
}

static void gate_rows(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    const gated_params *p = call->params;
    const tort_tensor *y = &call->outputs[0];
    for (int64_t row = begin; row < end; row++) {
        const float gate = gate_of(call, row);
        const int64_t from = row % (p->heads * p->length) * p->length;
        for (int64_t k = 0; k < p->length && tort_row_goes_on(call->watch, k); k++) {
            const float bias = gate * at(&call->inputs[POSITIONS], from + k);
            tort_store_floats(y->type, y->data, row * p->length + k, 1, &bias);
        }
    }
}

static tort_status run_gated(const tort_call *call) {
    const gated_params *p = call->params;
    float *sums = call->scratch;
    add_halves(call, &call->inputs[WEIGHT], p->size, p->columns, sums);
    add_halves(call, &call->inputs[BIAS], 1, p->columns, sums + 2 * p->size);
    if (tort_count(&call->outputs[0]) > 0)
        tort_parallel(call, p->batch * p->heads * p->length, 4 * (p->size + p->length), gate_rows, (void *)call);
    return TORT_OK;
}

const tort_op tort_ops_microsoft_gated_bias[] = {
    {"com.microsoft", "GatedRelativePositionBias", 1, 1,
     "query_layer:T query_bias:T rel_pos:T weight:T bias:T eco_a:T token_offset?:M", "output:T",
     "T=float|float16 M=int32", "num_heads:int!", .params_size = sizeof(gated_params), infer_gated, resolve_gated,
     run_gated},
    {0},
};
