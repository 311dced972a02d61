/* trees_lists.h - what decoding trees takes in all versions: lists of one length, numbers of several types, room in the
 * params, and the proof that every walk ends. Private to ops/ml. Read next: trees_decode.c, trees_decode5.c. */
#ifndef TORT_OPS_ML_TREES_LISTS_H
#define TORT_OPS_ML_TREES_LISTS_H

#include "ops/ml/trees.h"

/* A list of floats, or the elements of a tensor in its place. */
typedef struct tort_numbers {
    const float *floats;
    const void *elements; /* of a tensor; held */
    tort_type type;
    int32_t count, weight; /* weight: of the model, -1 */
    bool wide;             /* doubles */
} tort_numbers;

/* Opens attribute `name`, or `name`_as_tensor; neither: no numbers. TORT_E_MODEL: both, or no tensor of floats. */
tort_status tort_numbers_open(const tort_resolve *resolve, const char *name, tort_numbers *numbers);
void tort_numbers_close(const tort_resolve *resolve, tort_numbers *numbers);
double tort_number(const tort_numbers *numbers, int64_t i);
/* A tensor attribute of one of the types of the bits in `types`. */
tort_status tort_numbers_of_tensor(const tort_resolve *resolve, const char *name, uint64_t types,
                                   tort_numbers *numbers);

/* TORT_E_MODEL: list `name` has not as many elements as list `like`. */
tort_status tort_trees_same(const tort_resolve *resolve, const char *name, int64_t count, const char *like,
                            int64_t expected);
/* A list of ints that is as long as `like`. */
tort_status tort_trees_ints(const tort_resolve *resolve, const char *name, const char *like, int32_t expected,
                            const int64_t **list);

typedef struct tort_trees_counts {
    int32_t roots, nodes, votes, members, bases;
} tort_trees_counts;

/* Tells resolve->params_bytes, and gives the lists of p their places; labels and names of a classifier are copied,
 * where there are params. */
tort_status tort_trees_lay_out(tort_resolve *resolve, tort_trees_params *p, const tort_trees_counts *counts);
/* A list to write to. */
void *tort_trees_room(tort_trees_params *p, tort_list list);

/* n_targets. */
tort_status tort_trees_targets(const tort_resolve *resolve, tort_trees_params *p);
tort_status tort_trees_check_bases(const tort_resolve *resolve, bool classifies, int32_t count, int32_t targets);
void tort_trees_bases(const tort_numbers *bases, tort_trees_params *p);
/* Element i of the list `name` of features, and of votes. */
tort_status tort_trees_feature(const tort_resolve *resolve, const char *name, int32_t i, int64_t feature,
                               tort_tree_node *node);
tort_status tort_trees_vote(const tort_resolve *resolve, const tort_trees_params *p, int32_t i, int64_t target,
                            double weight, tort_tree_vote *vote);
/* Fills one_class and all_positive. */
void tort_trees_note_classes(tort_trees_params *p);
/* TORT_E_MODEL: from a root a walk could come to a node for the second time. Fills p->features. */
tort_status tort_trees_check_walks(const tort_resolve *resolve, tort_trees_params *p);

#endif
