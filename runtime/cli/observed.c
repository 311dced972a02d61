/* observed.c - collects the values of a run as its nodes make them (observed.h). Read next: observed_tell.c. */
#include "runtime/cli/observed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/numeric.h"
#include "runtime/core/base/hash.h"
#include "runtime/core/base/names.h"
#include "runtime/core/base/suggest.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/files/new_file.h"
#include "runtime/cli/files/value_file.h"
#include "runtime/cli/files/whole_file.h"
#include "runtime/cli/opening.h"
#include "runtime/cli/text.h"
#include "runtime/core/graph/graph.h"
#include "runtime/include/op.h"
#include "runtime/core/base/ascii.h"

/* Values by node and name: open addressing, places in the list of seen values, -1: free. */
struct cli_seen_table {
    tort_env env; /* for its key */
    int32_t *slots;
    size_t size; /* a power of two, at least twice as many as there are values */
};

/* One --dump: where the values of a node, or of all, are written. */
typedef struct cli_dump {
    char *folder;
    int32_t node; /* -1: all */
    tort_env env;
    tort_arena arena; /* of the names */
    tort_names names; /* of files */
    FILE *list;       /* index.tsv, as a text in memory until the end */
    char *text;
    size_t text_size;
} cli_dump;

static const tort_graph *graph_of(const tort_model *model, int32_t node) {
    const tort_graph *graph = model->graphs + model->graph_count - 1;
    while (graph->first > node) graph--;
    return graph;
}

char *cli_node_path(const tort_model *model, int32_t index) {
    const tort_graph *graph = graph_of(model, index);
    const char *path = graph->path;
    return cli_format("%s%s%s", path, *path ? "/" : "", graph->nodes[index - graph->first].name);
}

/* ---- seen values ------------------------------------------------------------------------------------------------- */

static cli_seen seen_of(int32_t node, const char *name, const tort_tensor *tensor) {
    cli_seen seen = {.node = node,
                     .name = cli_copy_text(name, strlen(name)),
                     .type = tensor->type,
                     .rank = tensor->rank,
                     .times = 1,
                     .statistics = cli_statistics_of(tensor)};
    memcpy(seen.dims, tensor->dims, sizeof seen.dims);
    return seen;
}

static size_t place_of(const cli_observed *o, int32_t node, const char *name) {
    const struct cli_seen_table *t = o->table;
    size_t at = (size_t)tort_hash(t->env.hash_key, name, strlen(name)) + (size_t)node * 31;
    for (at &= t->size - 1; t->slots[at] >= 0; at = (at + 1) & (t->size - 1)) {
        const cli_seen *seen = &o->seen[t->slots[at]];
        if (seen->node == node && !strcmp(seen->name, name)) break;
    }
    return at;
}

static void grow(cli_observed *o) {
    struct cli_seen_table *t = o->table;
    o->capacity = 2 * o->capacity + 64;
    o->seen = cli_realloc(o->seen, (size_t)o->capacity, sizeof *o->seen);
    while (t->size < 2 * (size_t)o->capacity) t->size *= 2;
    t->slots = cli_realloc(t->slots, t->size, sizeof *t->slots);
    memset(t->slots, -1, t->size * sizeof *t->slots);
    for (int32_t i = 0; i < o->count; i++) t->slots[place_of(o, o->seen[i].node, o->seen[i].name)] = i;
}

/* Adds a value, or one more time of it. */
static cli_seen *note(cli_observed *o, int32_t node, const char *name, const tort_tensor *tensor) {
    if (o->count == o->capacity) grow(o);
    const size_t at = place_of(o, node, name);
    if (o->table->slots[at] < 0) {
        o->table->slots[at] = o->count;
        o->seen[o->count] = seen_of(node, name, tensor);
        return &o->seen[o->count++];
    }
    cli_seen *seen = &o->seen[o->table->slots[at]];
    const cli_statistics more = cli_statistics_of(tensor);
    cli_statistics_join(&seen->statistics, &more);
    seen->rank = tensor->rank;
    memcpy(seen->dims, tensor->dims, sizeof seen->dims);
    seen->times++;
    return seen;
}

/* ---- the first that is not finite -------------------------------------------------------------------------------- */

/* The weight that is the value, or that a Constant holds, which never runs; -1: none. */
static int32_t weight_of(const tort_graph *graph, const tort_graph_value *value) {
    const tort_node *maker = value->producer < 0 ? NULL : &graph->nodes[value->producer];
    if (!maker || !maker->op || !(maker->op->flags & TORT_OP_CONSTANT)) return value->weight;
    for (int32_t i = 0; i < maker->attribute_count; i++)
        if (maker->attributes[i].kind == TORT_ATTR_TENSOR || maker->attributes[i].kind == TORT_ATTR_SPARSE_TENSOR)
            return maker->attributes[i].u.weights[0];
    return -1;
}

static bool see_weight(const tort_model *model, int32_t number, const char *name, cli_seen *out) {
    const tort_weight *weight = &model->weights[number];
    tort_tensor tensor = {.type = weight->type, .rank = weight->rank};
    const void *data;
    memcpy(tensor.dims, weight->dims, sizeof tensor.dims);
    if (tort_weight_acquire(model, number, &data, NULL)) return false;
    tensor.data = (void *)(uintptr_t)data;
    *out = seen_of(-1, name, &tensor);
    tort_weight_release(model, number);
    return true;
}

/* Gives the newest statistics of a value that a node reads. False: there are none, as of a loop's own values. */
static bool see_input(const cli_observed *o, const tort_graph *graph, const tort_graph_value *value, cli_seen *out) {
    const int32_t weight = weight_of(graph, value);
    if (weight >= 0) return see_weight(o->model, weight, value->name, out);
    const int32_t input = tort_model_input_index(o->model, value->name);
    for (int32_t i = o->count - 1; i >= 0; i--) {
        if (strcmp(o->seen[i].name, value->name) != 0) continue;
        *out = o->seen[i];
        out->name = cli_copy_text(value->name, strlen(value->name));
        return true;
    }
    if (input < 0 || o->inputs->tensors[input].type == TORT_UNDEFINED) return false;
    *out = seen_of(-1, value->name, &o->inputs->tensors[input]);
    return true;
}

static void keep_first(const cli_observed *o, cli_first *first, const cli_seen *seen) {
    const tort_graph *graph = graph_of(o->model, seen->node);
    const tort_node *node = &graph->nodes[seen->node - graph->first];
    first->value = *seen;
    first->value.name = cli_copy_text(seen->name, strlen(seen->name));
    first->inputs = cli_alloc((size_t)node->input_count, sizeof *first->inputs);
    for (int32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] < 0) continue;
        first->input_count += see_input(o, graph, &graph->values[node->inputs[i]], &first->inputs[first->input_count]);
    }
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

enum { MAX_FILE_NAME = 100, MAX_TIMES = 100 }; /* MAX_TIMES: of a value that a loop makes again and again */

char *cli_file_name_of(const char *value) {
    char *name = cli_copy_text(*value ? value : "_", strnlen(*value ? value : "_", MAX_FILE_NAME));
    for (char *c = name; *c; c++)
        if (!tort_is_word(*c) && !strchr(".-_", *c)) *c = '_';
    if (*name == '.') *name = '_';
    return name;
}

static tort_status dump_value(cli_dump *d, const cli_observed *o, const cli_seen *seen, const tort_tensor *tensor,
                              tort_error *error) {
    char *wanted = cli_file_name_of(seen->name), shape[200];
    const char *name = cli_check_memory((char *)(uintptr_t)tort_names_add_unique(
        &d->names, &d->arena, tort_arena_text(&d->arena, wanted, strlen(wanted))));
    char *file = cli_format("%s.%s", name, tensor->type == TORT_STRING ? "pb" : "npy");
    char *path = cli_format("%s/%s", d->folder, file), *node = cli_node_path(o->model, seen->node);
    tort_value *value = cli_check_memory(tort_value_borrow(NULL, tensor, NULL, NULL));
    const tort_status status = cli_failed_write(tort_value_file_write(path, seen->name, value, error), error);
    cli_print(d->list, "%s\t%s\t%s\t%s\t%s\n", file, seen->name, node, tort_type_name(tensor->type),
              cli_shape_text(tensor->rank, tensor->dims, NULL, shape, sizeof shape));
    tort_value_release(value);
    free(node);
    free(path);
    free(file);
    free(wanted);
    return status;
}

void cli_observe_value(void *observed, int32_t node, const char *value, const tort_tensor *tensor) {
    cli_observed *o = observed;
    const cli_seen *seen = note(o, node, value, tensor);
    const cli_statistics now = seen->times == 1 ? seen->statistics : cli_statistics_of(tensor);
    if (!o->first.value.name && now.nan + now.infinite) keep_first(o, &o->first, seen);
    if (!o->first_nan.value.name && now.nan) keep_first(o, &o->first_nan, seen);
    for (int32_t i = 0; !o->status && i < o->options->dumps.count; i++) {
        cli_dump *d = &o->dumps[i];
        if ((d->node >= 0 && d->node != node) || seen->times > MAX_TIMES) continue;
        o->status = dump_value(d, o, seen, tensor, &o->error);
        o->written++;
    }
}

/* ---- --dump NODE=DIR --------------------------------------------------------------------------------------------- */

/* Finds a node by "#12" or its path; -1: all. */
static tort_status find_node(const tort_model *model, const char *which, int32_t *node, tort_error *error) {
    const tort_graph *last = &model->graphs[model->graph_count - 1];
    const int32_t count = last->first + last->node_count;
    const char **paths = cli_alloc((size_t)count, sizeof *paths);
    char hint[200], *end;
    *node = -1;
    if (!strcmp(which, "all")) {
        free(paths);
        return TORT_OK;
    }
    const long number = *which == '#' ? strtol(which + 1, &end, 10) : -1;
    bool found = number >= 0 && number < count && which[1] && !*end;
    if (found) *node = (int32_t)number;
    for (int32_t i = 0; i < count; i++) {
        paths[i] = cli_node_path(model, i);
        if (found || strcmp(paths[i], which) != 0) continue;
        *node = i;
        found = true;
    }
    tort_did_you_mean(which, paths, (size_t)count, hint, sizeof hint);
    for (int32_t i = 0; i < count; i++) free((char *)(uintptr_t)paths[i]);
    free(paths);
    if (found) return TORT_OK;
    return tort_fail(error, TORT_E_USAGE, "--dump: the model has no node '%s'%s", which, hint);
}

static tort_status open_dump(cli_observed *o, const char *text, cli_dump *d, tort_error *error) {
    const char *equals = strrchr(text, '=');
    if (!equals || equals == text || !equals[1])
        return tort_fail(error, TORT_E_USAGE, "--dump wants NODE=DIR or all=DIR, not '%s'", text);
    char *which = cli_copy_text(text, (size_t)(equals - text));
    d->folder = cli_copy_text(equals + 1, strlen(equals + 1));
    d->env = tort_env_complete(NULL);
    tort_env_choose_key(&d->env);
    tort_names_init(&d->names, &d->env);
    tort_arena_init(&d->arena, &d->env);
    d->list = cli_check_memory(open_memstream(&d->text, &d->text_size));
    cli_print(d->list, "file\tvalue\tnode\ttype\tshape\n");
    tort_status status = find_node(o->model, which, &d->node, error);
    if (!status) status = cli_check_folder("--dump", d->folder, error);
    if (!status) status = cli_make_folder("--dump", d->folder, error);
    free(which);
    return status;
}

/* Writes the list of the files. */
static tort_status end_dump(cli_dump *d, tort_error *error) {
    char *path = cli_format("%s/index.tsv", d->folder);
    fflush(d->list);
    const tort_status status = cli_failed_write(cli_new_file_of(path, d->text, d->text_size, error), error);
    free(path);
    return status;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

bool cli_observes(const cli_options *options) {
    return options->expect || options->stats || options->dumps.count;
}

tort_status cli_observed_open(const cli_options *options, const tort_model *model, const cli_inputs *inputs,
                              cli_observed **observed, tort_error *error) {
    cli_observed *o = *observed = cli_alloc(1, sizeof *o);
    *o = (cli_observed){.options = options, .model = model, .inputs = inputs};
    o->table = cli_alloc(1, sizeof *o->table);
    o->table->size = 16;
    tort_env_choose_key(&o->table->env);
    o->dumps = cli_alloc((size_t)options->dumps.count, sizeof *o->dumps);
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < options->dumps.count; i++)
        status = open_dump(o, options->dumps.items[i], &o->dumps[i], error);
    return status;
}

/* float16 would have to hold the weights, too. */
static void note_weights(cli_observed *o) {
    bool *noted = cli_alloc((size_t)o->model->weight_count, sizeof *noted);
    for (int32_t g = 0; g < o->model->graph_count; g++)
        for (int32_t i = 0; i < o->model->graphs[g].value_count; i++) {
            const tort_graph_value *value = &o->model->graphs[g].values[i];
            const int32_t weight = weight_of(&o->model->graphs[g], value);
            cli_seen seen;
            if (weight < 0 || !value->consumers || noted[weight]) continue;
            noted[weight] = true;
            if (!tort_type_is_float(o->model->weights[weight].type) ||
                !see_weight(o->model, weight, value->name, &seen))
                continue;
            if (o->count == o->capacity) grow(o);
            o->seen[o->count++] = seen;
        }
    free(noted);
}

tort_status cli_observed_end(cli_observed *o, tort_error *error) {
    if (o->options->expect & CLI_FP16) note_weights(o);
    if (o->status && error) *error = o->error;
    for (int32_t i = 0; !o->status && i < o->options->dumps.count; i++) o->status = end_dump(&o->dumps[i], error);
    return o->status;
}

static void free_first(cli_first *first) {
    for (int32_t i = 0; i < first->input_count; i++) free(first->inputs[i].name);
    free(first->inputs);
    free(first->value.name);
}

static void free_dump(cli_dump *d) {
    if (!d->folder) return;
    fclose(d->list);
    free(d->text);
    free(d->folder);
    tort_names_free(&d->names);
    tort_arena_free(&d->arena);
}

void cli_observed_free(cli_observed *o) {
    if (!o) return;
    for (int32_t i = 0; i < o->count; i++) free(o->seen[i].name);
    for (int32_t i = 0; i < o->options->dumps.count; i++) free_dump(&o->dumps[i]);
    free_first(&o->first);
    free_first(&o->first_nan);
    free(o->seen);
    free(o->table->slots);
    free(o->table);
    free(o->dumps);
    free(o);
}
