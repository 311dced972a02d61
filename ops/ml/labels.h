/* labels.h - labels of classes, integers or strings: outputs of classifiers, and keys of ZipMap. */
#ifndef TORT_OPS_ML_LABELS_H
#define TORT_OPS_ML_LABELS_H

#include "runtime/include/op.h"

/* Labels in params. */
typedef struct tort_labels {
    tort_type type; /* INT64 or STRING */
    tort_list list;
} tort_labels;

/* Type and number of the labels of the attribute, of "classlabels_ints" and "classlabels_strings", that is present and
 * not empty; none: INT64 and 0. TORT_E_MODEL if both are present. */
tort_status tort_read_labels(const tort_node_view *node, const char *integers, const char *strings, tort_type *type,
                             int64_t *count, tort_error *error);
/* Copies labels, which tort_read_labels has checked, into params. */
void tort_resolve_labels(const tort_resolve *resolve, const char *integers, const char *strings, tort_labels *labels);

/* Scratch that tort_labels_open needs. */
size_t tort_labels_bytes(const tort_labels *labels);
/* The labels as an array of their type in scratch; strings are copied, since outputs outlive params. NULL: out of
 * memory. */
const void *tort_labels_open(const tort_call *call, const tort_labels *labels, void *scratch);
/* Sets output element i to label `which` of such an array. */
void tort_put_label(const tort_tensor *output, int64_t i, const void *labels, int64_t which);

#endif
