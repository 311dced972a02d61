/* trees_lists.c - see trees_lists.h. Independent of the attribute names of a version. */
#include "ops/ml/trees_lists.h"

#include "ops/numeric.h"

#include <stdio.h>
#include <string.h>

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

tort_status tort_numbers_of_tensor(const tort_resolve *resolve, const char *name, uint64_t types,
                                   tort_numbers *numbers) {
    const tort_attribute *attribute = tort_attr(resolve->node, name);
    const tort_model *model = resolve->node->model;
    *numbers = (tort_numbers){.weight = -1};
    if (!attribute) return TORT_OK;
    const int32_t index = attribute->u.weights[0];
    const tort_weight *weight = tort_weight_of(model, index);
    int64_t count = 1;
    for (int32_t d = 0; d < weight->rank; d++)
        if (__builtin_mul_overflow(count, weight->dims[d], &count)) count = INT64_MAX;
    if (!(types >> weight->type & 1))
        return tort_fail(resolve->error, TORT_E_MODEL, "%s is a tensor of %s; expected %s", name,
                         tort_type_name(weight->type), types >> TORT_UINT8 & 1 ? "uint8" : "float16, float or double");
    if (count >= INT32_MAX) return tort_fail(resolve->error, TORT_E_MODEL, "%s has 2^31-1 elements or more", name);
    tort_status status = tort_weight_acquire(model, index, &numbers->elements, resolve->error);
    if (status) return status;
    numbers->weight = index;
    numbers->count = (int32_t)count;
    numbers->type = weight->type;
    numbers->wide = weight->type == TORT_DOUBLE;
    return TORT_OK;
}

tort_status tort_numbers_open(const tort_resolve *resolve, const char *name, tort_numbers *numbers) {
    const uint64_t types = 1ull << TORT_FLOAT | 1ull << TORT_DOUBLE;
    char as_tensor[48];
    int32_t count = 0;
    const float *floats = tort_attr_floats(resolve->node, name, &count);
    snprintf(as_tensor, sizeof as_tensor, "%s_as_tensor", name);
    tort_status status = tort_numbers_of_tensor(resolve, as_tensor, types, numbers);
    if (!status && count && numbers->count)
        status = tort_fail(resolve->error, TORT_E_MODEL, "has both %s and %s; expected one of them", name, as_tensor);
    if (status || !count) return status;
    tort_numbers_close(resolve, numbers);
    *numbers = (tort_numbers){.floats = floats, .count = count, .weight = -1};
    return TORT_OK;
}

void tort_numbers_close(const tort_resolve *resolve, tort_numbers *numbers) {
    if (numbers->elements) tort_weight_release(resolve->node->model, numbers->weight);
    numbers->elements = NULL;
}

double tort_number(const tort_numbers *numbers, int64_t i) {
    double number;
    if (numbers->floats) return (double)numbers->floats[i];
    tort_load_doubles(numbers->type, numbers->elements, i, 1, &number);
    return number;
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

tort_status tort_trees_same(const tort_resolve *resolve, const char *name, int64_t count, const char *like,
                            int64_t expected) {
    if (count == expected) return TORT_OK;
    return tort_fail(resolve->error, TORT_E_MODEL, "%s has %lld elements, %s has %lld; expected as many in both", name,
                     (long long)count, like, (long long)expected);
}

tort_status tort_trees_ints(const tort_resolve *resolve, const char *name, const char *like, int32_t expected,
                            const int64_t **list) {
    int32_t count = 0;
    *list = tort_attr_ints(resolve->node, name, &count);
    return tort_trees_same(resolve, name, count, like, expected);
}

/* Appends a part of `count` elements to the params' layout; false on overflow. */
static bool take(size_t *end, int32_t count, size_t size, tort_list *list) {
    size_t bytes;
    *list = (tort_list){*end, count};
    return tort_mul_size((uint64_t)count, size, &bytes) && tort_add_size(*end, bytes, end) &&
           tort_align_size(*end, 8, end);
}

/* Appends the names in the form that tort_list_string reads. */
static bool take_names(const tort_attribute *names, tort_trees_params *p, bool write, size_t *end) {
    bool fits = take(end, names->count, sizeof(tort_list), &p->names);
    for (int32_t i = 0; fits && i < names->count; i++) {
        const tort_string *name = &names->u.strings[i];
        if (write) {
            ((tort_list *)tort_trees_room(p, p->names))[i] = (tort_list){*end, (int64_t)name->length};
            if (name->length) memcpy((char *)p + *end, name->data, name->length);
        }
        fits = tort_add_size(*end, name->length, end);
    }
    return fits && tort_align_size(*end, 8, end);
}

static size_t scratch_of(const tort_trees_params *p) {
    return (size_t)p->targets * (sizeof(double) + 1) + (size_t)p->names.count * sizeof(tort_string);
}

tort_status tort_trees_lay_out(tort_resolve *resolve, tort_trees_params *p, const tort_trees_counts *counts) {
    const tort_attribute *names = p->classifies ? tort_attr(resolve->node, "classlabels_strings") : NULL;
    const int64_t *labels = NULL;
    const bool write = resolve->params != NULL;
    int32_t label_count = 0;
    size_t end = (sizeof *p + 7) / 8 * 8;
    if (p->classifies) labels = tort_attr_ints(resolve->node, "classlabels_int64s", &label_count);
    bool fits = take(&end, counts->roots, sizeof(int32_t), &p->roots) &&
                take(&end, counts->nodes, sizeof(tort_tree_node), &p->nodes) &&
                take(&end, counts->votes, sizeof(tort_tree_vote), &p->votes) &&
                take(&end, counts->members, sizeof(double), &p->members) &&
                take(&end, counts->bases, sizeof(double), &p->bases) &&
                take(&end, label_count, sizeof(int64_t), &p->labels) && (!names || take_names(names, p, write, &end));
    if (!fits) return tort_out_of_memory(resolve->error, SIZE_MAX);
    if (write && label_count) memcpy(tort_trees_room(p, p->labels), labels, (size_t)label_count * sizeof *labels);
    resolve->params_bytes = end;
    resolve->scratch_bytes = scratch_of(p);
    return TORT_OK;
}

void *tort_trees_room(tort_trees_params *p, tort_list list) {
    return (char *)p + list.offset;
}

/* ---- elements ---------------------------------------------------------------------------------------------------- */

tort_status tort_trees_targets(const tort_resolve *resolve, tort_trees_params *p) {
    const int64_t targets = tort_attr_int(resolve->node, "n_targets");
    if (targets < 1 || targets > INT32_MAX)
        return tort_fail(resolve->error, TORT_E_MODEL, "n_targets is %lld; expected 1 to 2147483647",
                         (long long)targets);
    p->targets = (int32_t)targets;
    return TORT_OK;
}

/* Checks the number of base values. Converters write one for two classes of which only one gets votes. */
tort_status tort_trees_check_bases(const tort_resolve *resolve, bool classifies, int32_t count, int32_t targets) {
    if (!count || count == targets || (classifies && count == 1 && targets == 2)) return TORT_OK;
    return tort_fail(resolve->error, TORT_E_MODEL, "base_values has %d elements; expected none, or %d, one for each %s",
                     count, targets, classifies ? "class" : "target");
}

void tort_trees_bases(const tort_numbers *bases, tort_trees_params *p) {
    double *to = tort_trees_room(p, p->bases);
    for (int32_t i = 0; i < bases->count; i++) to[i] = tort_number(bases, i);
}

tort_status tort_trees_feature(const tort_resolve *resolve, const char *name, int32_t i, int64_t feature,
                               tort_tree_node *node) {
    if (feature < 0 || feature >= INT32_MAX)
        return tort_fail(resolve->error, TORT_E_MODEL, "%s[%d] is %lld; expected 0 to 2147483646", name, i,
                         (long long)feature);
    node->feature = (int32_t)feature;
    return TORT_OK;
}

tort_status tort_trees_vote(const tort_resolve *resolve, const tort_trees_params *p, int32_t i, int64_t target,
                            double weight, tort_tree_vote *vote) {
    if (target < 0 || target >= p->targets)
        return tort_fail(resolve->error, TORT_E_MODEL, "vote %d is for %s %lld; expected 0 to %d", i,
                         p->classifies ? "class" : "target", (long long)target, p->targets - 1);
    vote->weight = weight;
    vote->target = (int32_t)target;
    return TORT_OK;
}

void tort_trees_note_classes(tort_trees_params *p) {
    const tort_tree_node *nodes = tort_list_at(p, p->nodes);
    const tort_tree_vote *votes = tort_list_at(p, p->votes);
    bool seen[3] = {false}; /* class 0, class 1, any other */
    p->all_positive = true;
    for (int64_t n = 0; n < p->nodes.count; n++)
        for (int32_t i = 0; nodes[n].mode == TORT_TREE_LEAF && i < nodes[n].no; i++) {
            const tort_tree_vote *vote = &votes[nodes[n].yes + i];
            seen[vote->target < 2 ? vote->target : 2] = true;
            if (vote->weight < 0) p->all_positive = false;
        }
    p->one_class = seen[0] && !seen[1] && !seen[2]   ? TORT_TREES_FIRST
                   : seen[1] && !seen[0] && !seen[2] ? TORT_TREES_SECOND
                                                     : TORT_TREES_MANY;
}

/* ---- walks ------------------------------------------------------------------------------------------------------- */

enum { WALK_NEW, WALK_OPEN, WALK_DONE };

typedef struct tree_walk {
    tort_trees_params *p;
    uint8_t *state; /* per node */
    int32_t *stack; /* the path from the root to the current node, and siblings still to be visited */
} tree_walk;

/* Depth-first search of all nodes below a root, each once; a node is OPEN while its descendants are visited. Returns a
 * node that is its own descendant; -1: none. */
static int32_t find_cycle(const tree_walk *walk, int32_t root) {
    const tort_tree_node *nodes = tort_list_at(walk->p, walk->p->nodes);
    int64_t depth = 0;
    walk->stack[depth++] = root;
    while (depth > 0) {
        const int32_t at = walk->stack[depth - 1];
        const tort_tree_node *node = &nodes[at];
        const bool first = walk->state[at] == WALK_NEW;
        if (first && node->mode != TORT_TREE_LEAF) {
            if (node->feature >= walk->p->features) walk->p->features = node->feature + 1;
            walk->state[at] = WALK_OPEN;
        } else {
            walk->state[at] = WALK_DONE;
            depth--;
            continue;
        }
        for (int side = 0; side < 2; side++) {
            const int32_t child = side ? node->yes : node->no;
            if (walk->state[child] == WALK_OPEN) return child;
            if (walk->state[child] == WALK_NEW) walk->stack[depth++] = child;
        }
    }
    return -1;
}

/* Checks the number of features if it is known when loading; otherwise a run checks it. */
static tort_status check_features(const tort_resolve *resolve, const tort_trees_params *p) {
    const tort_info *x = &resolve->node->inputs[0];
    const tort_dim columns = x->rank > 0 ? x->dims[x->rank - 1] : p->features;
    if (!tort_dim_known(columns) || columns >= p->features) return TORT_OK;
    return tort_fail(resolve->error, TORT_E_MODEL,
                     "X has %lld features, but the trees look at feature %d (counted from 0)", (long long)columns,
                     p->features - 1);
}

tort_status tort_trees_check_walks(const tort_resolve *resolve, tort_trees_params *p) {
    const tort_env *env = tort_model_env(resolve->node->model);
    const size_t count = (size_t)p->nodes.count + 1;
    const int32_t *roots = tort_list_at(p, p->roots);
    tree_walk walk = {p, tort_alloc_zero(env, count, 1), tort_alloc_zero(env, 2 * count, sizeof(int32_t))};
    tort_status status = walk.state && walk.stack ? TORT_OK : tort_out_of_memory(resolve->error, 9 * count);
    for (int64_t t = 0; !status && t < p->roots.count; t++) {
        const int32_t again = find_cycle(&walk, roots[t]);
        if (again >= 0)
            status = tort_fail(resolve->error, TORT_E_MODEL,
                               "tree %lld goes in a circle: node %d of the lists is below itself", (long long)t, again);
    }
    tort_free(env, walk.state, count);
    tort_free(env, walk.stack, 2 * count * sizeof(int32_t));
    return status ? status : check_features(resolve, p);
}
