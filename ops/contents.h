/* contents.h - reads the contents of inputs as far as they are known, while planning and right before a node runs.
 *
 * Parameters (shape, axes, pads, k ...): a list or a single number given by an input, or by an attribute in older
 * versions; only these readers tell contents that are not known yet from invalid ones. Contents of data: small integer
 * tensors that shape arithmetic passes from node to node. */
#ifndef TORT_OPS_CONTENTS_H
#define TORT_OPS_CONTENTS_H

#include "runtime/include/op.h"

/* ---- parameters -------------------------------------------------------------------------------------------------- */

typedef enum tort_known {
    TORT_ABSENT,  /* the node has neither the input nor the attribute */
    TORT_UNKNOWN, /* not known yet; `count` is the number of entries, -1 if that is unknown too */
    TORT_KNOWN
} tort_known;

enum { TORT_MAX_ENTRIES = 2 * TORT_MAX_RANK }; /* of a list: pads have two per axis */

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

/* Read the list of input `input`; if that is < 0 or absent, of the attribute `name`, which error messages use too. A
 * scalar counts as a list of one. TORT_E_MODEL for a rank above 1 or too many entries, known or not. */
tort_status tort_read_numbers(const tort_node_view *node, int32_t input, const char *name, tort_numbers *out,
                              tort_error *error);
tort_status tort_read_floats(const tort_node_view *node, int32_t input, const char *name, tort_floats *out,
                             tort_error *error);
/* KNOWN as soon as the number of entries is: each is a number, an expression of shapes, or a fresh unknown. With `dims`
 * NULL (while resolving), KNOWN means that all entries are numbers. */
tort_status tort_read_symbols(const tort_node_view *node, tort_dims *dims, int32_t input, const char *name,
                              tort_symbols *out, tort_error *error);
/* The same for a list of up to `max` entries. */
tort_status tort_read_long_list(const tort_node_view *node, tort_dims *dims, int32_t input, const char *name,
                                int32_t max, tort_scalar *values, int32_t *count, tort_known *known, tort_error *error);
/* Reads a shape of at most TORT_MAX_RANK dimensions (else TORT_E_UNSUPPORTED), none below `min`. */
tort_status tort_read_shape(const tort_infer *infer, int32_t input, const char *name, int64_t min, tort_symbols *out);

/* Reads the single number of an input of any rank, which is present: a fresh unknown where it is not known. */
tort_status tort_read_symbol(const tort_infer *infer, int32_t input, const char *name, tort_scalar *out);
/* Reads a single number; *known is false where it is not known yet. */
tort_status tort_read_number(const tort_node_view *node, int32_t input, const char *name, int64_t *out, bool *known,
                             tort_error *error);

/* Reads an attribute of `count` numbers from `min` to 2^31-1; if missing or empty, each is `absent`. */
tort_status tort_read_sizes(const tort_node_view *node, const char *name, int32_t count, int64_t min, int64_t absent,
                            int64_t *out, tort_error *error);

/* TORT_E_MODEL if `count` is not `wanted`; -1 (not known) passes. */
tort_status tort_check_entries(tort_error *error, const char *name, int32_t count, int32_t wanted);
/* TORT_E_MODEL if the input is known not to have exactly one element; an absent one passes. */
tort_status tort_check_single(const tort_node_view *node, int32_t input, const char *name, tort_error *error);

/* ---- contents of data -------------------------------------------------------------------------------------------- */

#define TORT_MAX_ELEMENTS 256 /* maximum that shape arithmetic follows */

/* Reads the integers of input i (bool, or any integer type of 8 bits or more but uint64; rank 0 or 1); false if they
 * are not known or more than TORT_MAX_ELEMENTS. Single elements may be unknown scalars. */
bool tort_infer_integers(const tort_infer *infer, int32_t i, tort_scalar *values, int32_t *count);
/* Sets the contents of output o to a copy of `values`. More than TORT_MAX_ELEMENTS are ignored. */
tort_status tort_infer_set_integers(const tort_infer *infer, int32_t o, const tort_scalar *values, int32_t count);
/* Gives output o the contents of input i, if they are known. */
tort_status tort_infer_forward_elements(const tort_infer *infer, int32_t o, int32_t i);

#endif
