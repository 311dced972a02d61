/* unit_view.h - a unit as its kernel, or an error, sees it. */
#ifndef TORT_RUNTIME_LOWERED_UNIT_VIEW_H
#define TORT_RUNTIME_LOWERED_UNIT_VIEW_H

#include "runtime/lowered/lowered.h"

/* A unit as its kernel sees it, with what is known in the pass, until it is closed or the pass looks at
 * another one. params: of the unit, of a segment those of its parts one behind another; NULL: as they were while
 * placing. Pair with close, also when open fails. */
typedef struct tort_unit_view {
    tort_node_view node;
    tort_info *inputs; /* node.inputs, to write to */
    tort_segment_view segment;
    void *block; /* owned; NULL */
    size_t bytes;
} tort_unit_view;

tort_status tort_unit_view_open(tort_unit_view *view, const tort_lowered *lowered, tort_pass *pass, int32_t unit,
                                const void *params, tort_error *error);
/* The same of a segment, which need not be that of a unit yet. */
tort_status tort_segment_view_open(tort_unit_view *view, const tort_lowered *lowered, const tort_pass *pass,
                                   const tort_segment *segment, const void *params, tort_error *error);
void tort_unit_view_close(tort_unit_view *view, const tort_lowered *lowered);
/* Bytes of the params of a unit in a plan. Where they overflow SIZE_MAX. */
size_t tort_unit_params_bytes(const tort_lowered *lowered, int32_t unit);
/* Resolves the parts of a segment for what is known in the pass into so many bytes, zeroed. */
tort_status tort_segment_resolve(const tort_lowered *lowered, tort_pass *pass, const tort_segment *segment,
                                 void *params, tort_error *error);
/* As tort_error_at_node; of a unit that a fusion made it says what it is made of. */
void tort_error_at_unit(tort_error *error, const tort_lowered *lowered, int32_t unit);

#endif
