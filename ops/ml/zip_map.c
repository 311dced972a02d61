/* zip_map.c - ZipMap: turns each row of scores into a map from the labels of the classes. All maps share their keys. */
#include "ops/ml/labels.h"
#include "ops/ml/lookup.h"
#include "ops/ml/rows.h"
#include "ops/values.h"
#include "runtime/core/base/memory.h"

typedef struct zip_params {
    tort_labels labels;
} zip_params;

static tort_status zip_infer(tort_infer *infer) {
    tort_type type;
    int64_t count;
    tort_dim rows, features;
    tort_status status =
        tort_read_labels(infer->node, "classlabels_int64s", "classlabels_strings", &type, &count, infer->error);
    if (!status && count == 0)
        return tort_fail(infer->error, TORT_E_MODEL,
                         "has no keys; expected classlabels_int64s or classlabels_strings, one for each column of X");
    if (!status) status = tort_infer_rows(infer, 0, &rows, &features);
    if (!status) status = tort_check_features(infer->error, features, count, "classlabels_*");
    tort_infer_value(infer, 0, tort_sequence_type(tort_map_type(type, tort_tensor_type(TORT_FLOAT))));
    return status;
}

/* Computes the scratch: the strings, the selected columns, the elements of a map, the hash table of the keys. */
static tort_status zip_resolve(tort_resolve *resolve) {
    zip_params *params = resolve->params;
    tort_resolve_labels(resolve, "classlabels_int64s", "classlabels_strings", &params->labels);
    const size_t count = (size_t)params->labels.list.count;
    size_t lists;
    if (!tort_mul_size(count, sizeof(tort_string) + sizeof(int64_t) + sizeof(tort_value *), &lists) ||
        !tort_add_size(lists, tort_lookup_bytes((int64_t)count), &resolve->scratch_bytes))
        return tort_fail(resolve->error, TORT_E_MODEL, "the size of %zu keys overflows", count);
    return TORT_OK;
}

typedef struct zip_job {
    const tort_call *call;
    tort_value *keys;
    int64_t *columns; /* columns of X, one per key */
    tort_value **elements;
} zip_job;

/* Selects the column of each key; of duplicate keys the last one. Returns the number of keys. */
static int64_t choose_columns(const tort_call *call, int64_t *columns, tort_string *texts, void *table) {
    const zip_params *params = call->params;
    const tort_labels *labels = &params->labels;
    const int64_t *numbers = tort_list_at(params, labels->list);
    const tort_lookup lookup = tort_lookup_build(call, labels->list, labels->type, false, table);
    int64_t kept = 0;
    for (int64_t i = 0; i < labels->list.count && tort_row_goes_on(call->watch, i); i++) {
        const bool strings = labels->type == TORT_STRING;
        const tort_string text = strings ? tort_list_string(params, labels->list, i) : (tort_string){0};
        if ((strings ? tort_lookup_text(&lookup, text) : tort_lookup_integer(&lookup, numbers[i])) != i) continue;
        texts[kept] = text;
        columns[kept++] = i;
    }
    return kept;
}

static tort_value *make_keys(const tort_call *call, const int64_t *columns, tort_string *texts, int64_t count) {
    const zip_params *params = call->params;
    const int64_t *numbers = tort_list_at(params, params->labels.list);
    const tort_tensor shape = {.type = params->labels.type, .rank = 1, .dims = {count}};
    tort_value *keys = tort_value_new(call->env, &shape);
    if (!keys) return NULL;
    for (int64_t i = 0; i < count; i++) {
        if (shape.type == TORT_STRING)
            ((tort_string *)tort_value_data(keys))[i] = texts[i];
        else
            ((int64_t *)tort_value_data(keys))[i] = numbers[columns[i]];
    }
    if (tort_value_own_text(keys)) return keys;
    tort_value_release(keys);
    return NULL;
}

static bool append_map(const zip_job *job, const float *row, tort_value *sequence) {
    const int64_t count = tort_value_view(job->keys)->dims[0];
    int64_t made = 0;
    for (bool ok = true; ok && made < count && tort_row_goes_on(job->call->watch, made); made += ok) {
        float score = row[job->columns[made]];
        const tort_tensor tensor = {.type = TORT_FLOAT, .data = &score};
        job->elements[made] = tort_value_tensor(job->call->env, &tensor);
        ok = job->elements[made] != NULL;
    }
    tort_value *map = made < count ? NULL
                                   : tort_value_map_of(job->call->env, job->keys, tort_tensor_type(TORT_FLOAT),
                                                       (const tort_value *const *)job->elements);
    const bool ok = map && tort_value_append(sequence, map);
    tort_value_release(map);
    while (made > 0) tort_value_release(job->elements[--made]);
    return ok;
}

/* Checks the shape of X in a run: nodes that output no tensor are not inferred again when shapes become known. */
static tort_status check_columns(const tort_call *call, const tort_tensor *x, int64_t labels) {
    if (x->rank != 1 && x->rank != 2)
        return tort_fail(call->error, TORT_E_RUN, "X has rank %d; expected rows of features, [N, C], or one row, [C]",
                         x->rank);
    if (tort_row_features(x) == labels) return TORT_OK;
    return tort_fail(call->error, TORT_E_RUN, "X has %lld features, classlabels_* is for %lld",
                     (long long)tort_row_features(x), (long long)labels);
}

static tort_status zip_reference(const tort_call *call) {
    const zip_params *params = call->params;
    const tort_tensor *x = &call->inputs[0];
    tort_status status = check_columns(call, x, params->labels.list.count);
    if (status) return status;
    const int64_t labels = params->labels.list.count, rows = tort_row_count(x), features = tort_row_features(x);
    tort_string *texts = call->scratch;
    int64_t *columns = (int64_t *)(void *)(texts + labels);
    zip_job job = {.call = call, .columns = columns, .elements = (tort_value **)(void *)(columns + labels)};
    const int64_t count = choose_columns(call, columns, texts, job.elements + labels);
    job.keys = make_keys(call, columns, texts, count);
    tort_value *sequence =
        tort_value_sequence(call->env, tort_map_type(params->labels.type, tort_tensor_type(TORT_FLOAT)));
    bool ok = job.keys && sequence;
    for (int64_t row = 0, done = 0; row < rows && ok && tort_work_goes_on(call->watch, &done, 256 + 128 * features);
         row++)
        ok = append_map(&job, (const float *)x->data + row * features, sequence);
    tort_value_release(job.keys);
    if (ok) return tort_give_value(call, sequence);
    tort_value_release(sequence);
    return tort_out_of_memory(call->error, (size_t)rows * sizeof sequence);
}

const tort_op tort_ops_ml_zip_map[] = {
    {"ai.onnx.ml", "ZipMap", 1, 5, "X:float", "Z:T", "T=seq(map(string,float))|seq(map(int64,float))",
     "classlabels_int64s:ints classlabels_strings:strings", .flags = TORT_OP_LISTS | TORT_OP_VALUES,
     .params_size = sizeof(zip_params), zip_infer, zip_resolve, zip_reference},
    {0},
};
