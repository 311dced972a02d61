/* trees_lists.h - shared by the decoders of all versions of trees: lists of one length, numbers of several types, the
 * layout of the params, and the check that every walk ends. Private to ops/ml. Read next: trees_decode.c,
 * trees_decode5.c. */
#ifndef TORT_OPS_ML_TREES_LISTS_H
#define TORT_OPS_ML_TREES_LISTS_H

#include "ops/ml/trees.h"

/* Numbers of an attribute: a list of floats or the elements of a tensor. */
typedef struct tort_numbers {
    const float *floats;
    const void *elements; /* of a tensor; acquired until tort_numbers_close */
    tort_type type;
    int32_t count, weight; /* weight: index in the model; -1: a list */
    bool wide;             /* doubles */
} tort_numbers;

/* Opens attribute `name`, or `name`_as_tensor; without either there are no numbers. TORT_E_MODEL if both are present,
 * or the tensor is not of floats or doubles. */
tort_status tort_numbers_open(const tort_resolve *resolve, const char *name, tort_numbers *numbers);
void tort_numbers_close(const tort_resolve *resolve, tort_numbers *numbers);
double tort_number(const tort_numbers *numbers, int64_t i);
/* Opens a tensor attribute whose type must be in the bit set `types`. */
tort_status tort_numbers_of_tensor(const tort_resolve *resolve, const char *name, uint64_t types,
                                   tort_numbers *numbers);

/* TORT_E_MODEL unless lists `name` and `like` have the same length. */
tort_status tort_trees_same(const tort_resolve *resolve, const char *name, int64_t count, const char *like,
                            int64_t expected);
/* Gets a list of ints, which must be as long as `like`. */
tort_status tort_trees_ints(const tort_resolve *resolve, const char *name, const char *like, int32_t expected,
                            const int64_t **list);

typedef struct tort_trees_counts {
    int32_t roots, nodes, votes, members, bases;
} tort_trees_counts;

/* Computes resolve->params_bytes and the offsets of p's lists; copies a classifier's labels or names if there are
 * params. */
tort_status tort_trees_lay_out(tort_resolve *resolve, tort_trees_params *p, const tort_trees_counts *counts);
/* The place of a list, for writing. */
void *tort_trees_room(tort_trees_params *p, tort_list list);

/* Reads n_targets. */
tort_status tort_trees_targets(const tort_resolve *resolve, tort_trees_params *p);
tort_status tort_trees_check_bases(const tort_resolve *resolve, bool classifies, int32_t count, int32_t targets);
void tort_trees_bases(const tort_numbers *bases, tort_trees_params *p);
/* Checks and stores element i: of the list `name` of features, and of the votes. */
tort_status tort_trees_feature(const tort_resolve *resolve, const char *name, int32_t i, int64_t feature,
                               tort_tree_node *node);
tort_status tort_trees_vote(const tort_resolve *resolve, const tort_trees_params *p, int32_t i, int64_t target,
                            double weight, tort_tree_vote *vote);
/* Fills one_class and all_positive. */
void tort_trees_note_classes(tort_trees_params *p);
/* TORT_E_MODEL if a walk from a root could reach a node twice on one path, and so never end. Fills p->features. */
tort_status tort_trees_check_walks(const tort_resolve *resolve, tort_trees_params *p);

#endif
