/* contents.h - what is known of the numbers that inputs hold, while planning and right before a node runs.
 *
 * Two kinds of readers. Parameters (shape, axes, pads, k ...): a list or a single number that an input gives, or an
 * attribute in older versions; these readers, and no other code, tell what is not known yet from what is wrong.
 * Contents of data: small integers that shape arithmetic carries from node to node. */
#ifndef TORT_OPS_CONTENTS_H
#define TORT_OPS_CONTENTS_H

#include "runtime/op.h"

/* ---- parameters -------------------------------------------------------------------------------------------------- */

typedef enum tort_known {
    TORT_ABSENT,  /* the node has neither the input nor the attribute */
    TORT_UNKNOWN, /* not at hand yet; `count` is the number of entries, -1 where not even that is known */
    TORT_KNOWN
} tort_known;

enum { TORT_MAX_ENTRIES = 2 * TORT_MAX_RANK }; /* of a list: pads have two an axis */

typedef struct tort_numbers {
    tort_known known;
    int32_t count;
    int64_t values[TORT_MAX_ENTRIES];
} tort_numbers;

typedef struct tort_floats {
    tort_known known;
    int32_t count;
    float values[TORT_MAX_ENTRIES];
} tort_floats;

typedef struct tort_symbols {
    tort_known known;
    int32_t count;
    tort_scalar values[TORT_MAX_ENTRIES];
} tort_symbols;

/* The list of input `input`; where that is < 0 or absent, of the attribute `name`, which is also what messages call it.
 * A scalar counts as a list of one. TORT_E_MODEL for a rank above 1 or too many entries, known or not. */
tort_status tort_read_numbers(const tort_node_view *node, int32_t input, const char *name, tort_numbers *out,
                              tort_error *error);
tort_status tort_read_floats(const tort_node_view *node, int32_t input, const char *name, tort_floats *out,
                             tort_error *error);
/* KNOWN as soon as the number of entries is: each is a number, an expression of shapes, or an unknown of its own. With
 * `dims` NULL (while resolving) KNOWN means that all are numbers. */
tort_status tort_read_symbols(const tort_node_view *node, tort_dims *dims, int32_t input, const char *name,
                              tort_symbols *out, tort_error *error);
/* The same for a list of any length up to `most`. */
tort_status tort_read_long_list(const tort_node_view *node, tort_dims *dims, int32_t input, const char *name,
                                int32_t max, tort_scalar *values, int32_t *count, tort_known *known, tort_error *error);
/* A shape of at most TORT_MAX_RANK dimensions (else TORT_E_UNSUPPORTED), none below `least`. */
tort_status tort_read_shape(const tort_infer *infer, int32_t input, const char *name, int64_t min, tort_symbols *out);

/* The one number of an input of any rank, which is present: an unknown of its own where it is not at hand. */
tort_status tort_read_symbol(const tort_infer *infer, int32_t input, const char *name, tort_scalar *out);
/* *known false: not at hand. */
tort_status tort_read_number(const tort_node_view *node, int32_t input, const char *name, int64_t *out, bool *known,
                             tort_error *error);

/* An attribute with `count` numbers from `least` to 2^31-1; `absent` for each where it is missing or empty. */
tort_status tort_read_sizes(const tort_node_view *node, const char *name, int32_t count, int64_t min, int64_t absent,
                            int64_t *out, tort_error *error);

/* TORT_E_MODEL if a list has another number of entries; count -1 (not known) passes. */
tort_status tort_check_entries(tort_error *error, const char *name, int32_t count, int32_t wanted);
/* TORT_E_MODEL if input i is known to have other than one element; an absent one passes. */
tort_status tort_check_single(const tort_node_view *node, int32_t input, const char *name, tort_error *error);

/* ---- contents of data -------------------------------------------------------------------------------------------- */

#define TORT_MAX_ELEMENTS 256 /* that shape arithmetic follows */

/* The integers of input i (any integer type up to 64 bits signed, or bool; rank 0 or 1), as far as they are known:
 * false when nothing is. At most TORT_MAX_ELEMENTS. */
bool tort_infer_integers(const tort_infer *infer, int32_t i, tort_scalar *values, int32_t *count);
/* Gives output o the contents `values`, which are copied. More than TORT_MAX_ELEMENTS are ignored. */
tort_status tort_infer_set_integers(const tort_infer *infer, int32_t o, const tort_scalar *values, int32_t count);
/* Output o holds what input i holds, element by element. */
tort_status tort_infer_forward_elements(const tort_infer *infer, int32_t o, int32_t i);

#endif
