/* unit_view.h - a unit as its kernel sees it, and as an error names it. */
#ifndef TORT_RUNTIME_LOWERED_UNIT_VIEW_H
#define TORT_RUNTIME_LOWERED_UNIT_VIEW_H

#include "runtime/core/lowered/lowered.h"

/* A unit as its kernel sees it, with the infos of a pass; valid until closed, or until the pass looks at another node.
 * params: the unit's; for a segment the params of its parts, concatenated; NULL: those resolved at placement. Pair with
 * close, even when open fails. */
typedef struct tort_unit_view {
    tort_node_view node;
    tort_info *inputs; /* node.inputs, writable */
    tort_segment_view segment;
    void *block; /* owned; NULL */
    size_t bytes;
} tort_unit_view;

tort_status tort_unit_view_open(tort_unit_view *view, const tort_lowered *lowered, tort_pass *pass, int32_t unit,
                                const void *params, tort_error *error);
/* The same for a segment that need not belong to a unit yet. */
tort_status tort_segment_view_open(tort_unit_view *view, const tort_lowered *lowered, const tort_pass *pass,
                                   const tort_segment *segment, const void *params, tort_error *error);
void tort_unit_view_close(tort_unit_view *view, const tort_lowered *lowered);
/* Bytes of a unit's params in a plan; SIZE_MAX on overflow. */
size_t tort_unit_params_bytes(const tort_lowered *lowered, int32_t unit);
/* Resolves the params of all parts with the infos of the pass, into tort_unit_params_bytes zeroed bytes. */
tort_status tort_segment_resolve(const tort_lowered *lowered, tort_pass *pass, const tort_segment *segment,
                                 void *params, tort_error *error);
/* Like tort_error_at_node; for a fused unit also names the nodes it is made of. */
void tort_error_at_unit(tort_error *error, const tort_lowered *lowered, int32_t unit);

#endif
