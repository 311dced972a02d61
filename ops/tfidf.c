/* tfidf.c - TfIdfVectorizer: counts how often each n-gram of a pool occurs in a row of tokens.
 *
 * An n-gram of a row is n of its tokens, each `distance` behind the one before, for all distances up to max_skip_count
 * + 1. The pool becomes a hash table in scratch memory; the n-grams of the rows are looked up in it. Source: ONNX
 * operator TfIdfVectorizer-9. */
#include "ops/shapes.h"
#include "runtime/core/base/hash.h"

#include <string.h>

typedef enum tfidf_mode { MODE_TF, MODE_IDF, MODE_TFIDF } tfidf_mode;

typedef struct tfidf_params {
    tfidf_mode mode;
    int64_t shortest, longest, distances; /* lengths of n-grams, at most the pool's; number of distances */
    int64_t columns, grams;               /* of the output; n-grams of the pool, of any length */
    int64_t rows, width;                  /* of the input */
    int64_t slots;                        /* of the table: a power of two */
    size_t grams_at, hashes_at, slots_at; /* offsets in scratch memory */
    tort_list counts, indexes, weights, pool;
} tfidf_params;

/* ---- attributes -------------------------------------------------------------------------------------------------- */

static tort_status read_mode(const tort_node_view *node, tfidf_params *params, tort_error *error) {
    const char *mode = tort_attr_string(node, "mode");
    params->mode = !strcmp(mode, "TFIDF") ? MODE_TFIDF : !strcmp(mode, "IDF") ? MODE_IDF : MODE_TF;
    if (params->mode != MODE_TF || !strcmp(mode, "TF")) return TORT_OK;
    return tort_fail(error, TORT_E_MODEL, "mode \"%.40s\" is not TF, IDF or TFIDF", mode);
}

static tort_status read_lengths(const tort_node_view *node, tfidf_params *params, tort_error *error) {
    int32_t counts;
    tort_attr_ints(node, "ngram_counts", &counts);
    const int64_t skips = tort_attr_int(node, "max_skip_count");
    params->shortest = tort_attr_int(node, "min_gram_length");
    params->longest = tort_attr_int(node, "max_gram_length");
    if (params->shortest < 1 || params->longest < params->shortest)
        return tort_fail(error, TORT_E_MODEL, "n-grams are of %lld to %lld tokens; expected 1 or more, in this order",
                         (long long)params->shortest, (long long)params->longest);
    if (skips < 0)
        return tort_fail(error, TORT_E_MODEL, "max_skip_count is %lld; expected 0 or more", (long long)skips);
    if (params->longest > counts) params->longest = counts;
    params->distances = skips < INT64_MAX ? skips + 1 : skips;
    return TORT_OK;
}

/* Finds the attribute that is the pool, whose kind must fit the type of the input. */
static tort_status find_pool(const tort_node_view *node, const tort_attribute **pool, tort_error *error) {
    const tort_attribute *numbers = tort_attr(node, "pool_int64s"), *texts = tort_attr(node, "pool_strings");
    const tort_type type = node->inputs[0].type;
    const bool has_numbers = numbers && numbers->count > 0, has_texts = texts && texts->count > 0;
    if (has_numbers == has_texts)
        return tort_fail(error, TORT_E_MODEL, "expected one of pool_int64s and pool_strings, but it has %s",
                         has_texts ? "both" : "neither");
    if (has_texts != (type == TORT_STRING))
        return tort_fail(error, TORT_E_MODEL, "input 0 is of type %s, but the pool has %s", tort_type_name(type),
                         has_texts ? "strings" : "numbers");
    *pool = has_texts ? texts : numbers;
    return TORT_OK;
}

/* End of the n-grams of `length` tokens in the pool. */
static int64_t grams_end(const int64_t *counts, int64_t lengths, int64_t length, int64_t pool) {
    return length < lengths ? counts[length] : pool;
}

static tort_status read_pool(const tort_node_view *node, tfidf_params *params, tort_error *error) {
    const tort_attribute *pool = NULL;
    tort_status status = find_pool(node, &pool, error);
    int32_t lengths;
    const int64_t *counts = tort_attr_ints(node, "ngram_counts", &lengths);
    params->grams = 0;
    for (int64_t length = 1; !status && length <= lengths; length++) {
        const int64_t begin = counts[length - 1], end = grams_end(counts, lengths, length, pool->count);
        if (begin < 0 || end < begin || end > pool->count)
            return tort_fail(error, TORT_E_MODEL, "n-grams of %lld tokens go from %lld to %lld of a pool of %d",
                             (long long)length, (long long)begin, (long long)end, pool->count);
        if ((end - begin) % length)
            return tort_fail(error, TORT_E_MODEL, "%lld tokens of the pool are not whole n-grams of %lld",
                             (long long)(end - begin), (long long)length);
        params->grams += (end - begin) / length;
    }
    return status;
}

static tort_status read_columns(const tort_node_view *node, tfidf_params *params, tort_error *error) {
    int32_t count, weights;
    const int64_t *indexes = tort_attr_ints(node, "ngram_indexes", &count);
    tort_attr_floats(node, "weights", &weights);
    int64_t last = -1;
    for (int32_t i = 0; i < count; i++) {
        if (indexes[i] < 0 || indexes[i] == INT64_MAX)
            return tort_fail(error, TORT_E_MODEL, "ngram_indexes has %lld; expected 0 or more", (long long)indexes[i]);
        if (indexes[i] > last) last = indexes[i];
    }
    params->columns = last + 1;
    if (params->grams > count)
        return tort_fail(error, TORT_E_MODEL, "the pool has %lld n-grams, ngram_indexes has %d entries",
                         (long long)params->grams, (int)count);
    if (weights && weights != count)
        return tort_fail(error, TORT_E_MODEL, "weights has %d entries, ngram_indexes has %d", (int)weights, (int)count);
    return TORT_OK;
}

static tort_status read_attributes(const tort_node_view *node, tfidf_params *params, tort_error *error) {
    tort_status status = read_mode(node, params, error);
    if (!status) status = read_lengths(node, params, error);
    if (!status) status = read_pool(node, params, error);
    return status ? status : read_columns(node, params, error);
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

static tort_status tfidf_infer(tort_infer *infer) {
    const tort_info *input = &infer->node->inputs[0];
    tfidf_params params = {0};
    tort_status status = read_attributes(infer->node, &params, infer->error);
    if (status) return status;
    tort_infer_unknown(infer, 0, TORT_FLOAT);
    if (input->rank < 0) return TORT_OK;
    if (input->rank > 2)
        return tort_fail(infer->error, TORT_E_MODEL, "the input must be [C] or [N,C]; it has rank %d",
                         (int)input->rank);
    const tort_dim dims[2] = {input->rank == 2 ? input->dims[0] : params.columns, params.columns};
    tort_infer_shape(infer, 0, TORT_FLOAT, input->rank == 2 ? 2 : 1, dims);
    return TORT_OK;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* An n-gram of the pool; `next` is another one of the same tokens, or -1. */
typedef struct gram {
    int64_t start, length, column, next;
    float weight;
} gram;

/* Adds room for `count` elements to `total`; *at: its offset. */
static bool add_room(size_t *total, int64_t count, size_t size, size_t *at) {
    size_t bytes;
    *at = *total;
    return tort_mul_size((uint64_t)count, size, &bytes) && tort_add_size(*total, bytes, total) &&
           tort_align_size(*total, sizeof(int64_t), total);
}

static tort_status tfidf_resolve(tort_resolve *resolve) {
    tfidf_params *params = resolve->params;
    const tort_info *input = &resolve->node->inputs[0];
    tort_status status = read_attributes(resolve->node, params, resolve->error);
    if (status) return status;
    params->counts = tort_resolve_list(resolve, "ngram_counts");
    params->indexes = tort_resolve_list(resolve, "ngram_indexes");
    params->weights = tort_resolve_list(resolve, "weights");
    params->pool = tort_resolve_list(resolve, input->type == TORT_STRING ? "pool_strings" : "pool_int64s");
    if (!tort_shape_known(input)) return TORT_OK;
    params->rows = input->rank == 2 ? input->dims[0] : 1;
    params->width = input->rank > 0 ? input->dims[input->rank - 1] : 1;
    for (params->slots = 2; params->slots < 2 * params->grams;) params->slots *= 2;
    size_t *bytes = &resolve->scratch_bytes;
    const bool fits = add_room(bytes, params->grams, sizeof(gram), &params->grams_at) &&
                      add_room(bytes, params->rows * params->width, sizeof(uint64_t), &params->hashes_at) &&
                      add_room(bytes, params->slots, sizeof(int32_t), &params->slots_at);
    return fits ? TORT_OK : tort_fail(resolve->error, TORT_E_MEMORY, "its table does not fit in memory");
}

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

/* Tokens, numbers or strings: of a tensor, or (params set) of the pool. */
typedef struct tokens {
    tort_type type;
    const void *data;
    const tfidf_params *params;
} tokens;

static int64_t number_at(const tokens *t, int64_t i) {
    return t->type == TORT_INT32 ? ((const int32_t *)t->data)[i] : ((const int64_t *)t->data)[i];
}

static tort_string text_at(const tokens *t, int64_t i) {
    return t->params ? tort_list_string(t->params, t->params->pool, i) : ((const tort_string *)t->data)[i];
}

static bool same_token(const tokens *a, int64_t i, const tokens *b, int64_t j) {
    if (a->type != TORT_STRING) return number_at(a, i) == number_at(b, j);
    const tort_string x = text_at(a, i), y = text_at(b, j);
    return x.length == y.length && (!x.length || !memcmp(x.data, y.data, x.length));
}

static uint64_t hash_token(const uint64_t *key, const tokens *t, int64_t i) {
    if (t->type != TORT_STRING) return (uint64_t)number_at(t, i);
    const tort_string text = text_at(t, i);
    return tort_hash(key, text.data, text.length);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

typedef struct vectorizer {
    const tfidf_params *params;
    tokens input, pool;
    gram *grams;
    const tort_call *call;
    const uint64_t *hash_key;
    uint64_t *hashes; /* of the tokens of the input */
    int32_t *slots;   /* of the table: an n-gram, or -1 */
    float *output;
} vectorizer;

/* Slot of the n-gram of `length` tokens from `first` on, `distance` apart; an empty one if the pool does not have
 * it. */
static int32_t *find_slot(const vectorizer *v, uint64_t hash, const tokens *t, int64_t first, int64_t distance,
                          int64_t length) {
    const uint64_t mask = (uint64_t)v->params->slots - 1;
    for (uint64_t at = tort_hash_word(v->hash_key, hash ^ (uint64_t)length) & mask;; at = (at + 1) & mask) {
        const int32_t found = v->slots[at];
        if (found < 0) return &v->slots[at];
        const gram *g = &v->grams[found];
        int64_t i = g->length == length ? 0 : -1;
        while (i >= 0 && i < length && same_token(&v->pool, g->start + i, t, first + i * distance)) i++;
        if (i == length) return &v->slots[at];
    }
}

static void add_gram(const vectorizer *v, int32_t number, int64_t start, int64_t length) {
    const int64_t *indexes = tort_list_at(v->params, v->params->indexes);
    const float *weights = tort_list_at(v->params, v->params->weights);
    uint64_t hash = 0;
    for (int64_t i = 0; i < length; i++)
        hash = tort_hash_word(v->hash_key, hash ^ hash_token(v->hash_key, &v->pool, start + i));
    int32_t *slot = find_slot(v, hash, &v->pool, start, 1, length);
    const float weight = number < v->params->weights.count ? weights[number] : 1;
    v->grams[number] = (gram){start, length, indexes[number], *slot, weight};
    *slot = number;
}

static void fill_table(const vectorizer *v) {
    const tfidf_params *params = v->params;
    const int64_t *counts = tort_list_at(params, params->counts);
    for (int64_t s = 0; s < params->slots; s++) v->slots[s] = -1;
    int32_t number = 0;
    for (int64_t length = 1; length <= params->longest; length++) {
        const int64_t end = grams_end(counts, params->counts.count, length, params->pool.count);
        for (int64_t start = counts[length - 1]; start < end; start += length, number++)
            if (length >= params->shortest) add_gram(v, number, start, length);
    }
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void found(const vectorizer *v, const gram *g, float *row) {
    switch (v->params->mode) {
    case MODE_TF: row[g->column] += 1; break;
    case MODE_IDF: row[g->column] = g->weight; break;
    case MODE_TFIDF: row[g->column] += g->weight; break;
    }
}

/* Looks up the n-grams that begin with token `first` of the input, with `left` tokens to the end of its row. */
static void look_from(const vectorizer *v, int64_t first, int64_t left, int64_t distance, int64_t shortest,
                      float *row) {
    uint64_t hash = 0;
    for (int64_t length = 1; length <= v->params->longest && (length - 1) * distance < left; length++) {
        hash = tort_hash_word(v->hash_key, hash ^ v->hashes[first + (length - 1) * distance]);
        if (length < shortest) continue;
        int64_t g = *find_slot(v, hash, &v->input, first, distance, length);
        for (; g >= 0; g = v->grams[g].next) found(v, &v->grams[g], row);
    }
}

/* Looks up all n-grams of a row. Single tokens have no distance and count once; distances as long as the row find
 * none. */
static void look_row(const vectorizer *v, int64_t begin, float *row) {
    const tfidf_params *params = v->params;
    int64_t shortest = params->shortest, done = 0;
    for (int64_t distance = 1; distance <= params->distances && (distance == 1 || distance < params->width);
         distance++) {
        for (int64_t i = 0; i < params->width && tort_work_goes_on(v->call->watch, &done, 16 * params->longest); i++)
            look_from(v, begin + i, params->width - i, distance, shortest, row);
        if (shortest == 1) shortest = 2;
    }
}

static void vectorize_rows(void *arg, int64_t begin, int64_t end) {
    const vectorizer *v = arg;
    const tfidf_params *params = v->params;
    for (int64_t r = begin; r < end; r++) {
        float *row = v->output + r * params->columns;
        memset(row, 0, (size_t)params->columns * sizeof *row);
        for (int64_t i = 0; i < params->width && tort_row_goes_on(v->call->watch, i); i++)
            v->hashes[r * params->width + i] = hash_token(v->hash_key, &v->input, r * params->width + i);
        look_row(v, r * params->width, row);
    }
}

static tort_status tfidf_reference(const tort_call *call) {
    const tfidf_params *params = call->params;
    const tort_tensor *input = &call->inputs[0];
    const bool texts = input->type == TORT_STRING;
    char *scratch = call->scratch;
    vectorizer v = {.params = params,
                    .input = {.type = input->type, .data = input->data},
                    .pool = {.type = texts ? TORT_STRING : TORT_INT64, .params = texts ? params : NULL},
                    .call = call,
                    .hash_key = call->env->hash_key,
                    .grams = (gram *)(void *)(scratch + params->grams_at),
                    .hashes = (uint64_t *)(void *)(scratch + params->hashes_at),
                    .slots = (int32_t *)(void *)(scratch + params->slots_at),
                    .output = call->outputs[0].data};
    if (!texts) v.pool.data = tort_list_at(params, params->pool);
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    fill_table(&v);
    const int64_t distances = params->distances < params->width ? params->distances : params->width;
    const double work = 20.0 * (double)params->width * (double)distances * (double)params->longest;
    tort_parallel(call, params->rows, work < 1e15 ? (int64_t)work : (int64_t)1e15, vectorize_rows, &v);
    return TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

const tort_op tort_ops_tfidf[] = {
    {"", "TfIdfVectorizer", 9, TORT_NEWEST_OPSET, "X:T", "Y:T1", "T=string|int32|int64 T1=float",
     "max_gram_length:int! max_skip_count:int! min_gram_length:int! mode:string! ngram_counts:ints! "
     "ngram_indexes:ints! pool_int64s:ints pool_strings:strings weights:floats",
     .flags = TORT_OP_LISTS, .params_size = sizeof(tfidf_params), tfidf_infer, tfidf_resolve, tfidf_reference},
    {0},
};
