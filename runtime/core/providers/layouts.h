/* layouts.h - the layouts of all providers of a chain. */
#ifndef TORT_RUNTIME_PROVIDERS_LAYOUTS_H
#define TORT_RUNTIME_PROVIDERS_LAYOUTS_H

#include "runtime/core/lowered/lowered.h"

/* tort_layouts_open: checks the rows of ready providers and lists their layouts; call after chain.c. tort_layout_claim:
 * checks that the operands of a row can be in its layout. tort_layout_fits: true if a value can be in this layout (not
 * 0). tort_layout_bytes: bytes of a tensor in a layout; false: overflow, or it does not fit. tort_layout_convert:
 * converts between plain and a layout; `call` has device, stream, env, node, text and error. */
tort_status tort_layouts_open(tort_session *session, tort_error *error);
tort_verdict tort_layout_claim(const tort_session *session, const tort_link *link, const tort_kernel *row,
                               const tort_node_view *view);
bool tort_layout_fits(const tort_session *session, int32_t layout, const tort_info *info);
bool tort_layout_bytes(const tort_session *session, int32_t layout, const tort_tensor *tensor, size_t *bytes);
tort_status tort_layout_convert(const tort_session *session, int32_t layout, bool to_plain, const tort_tensor *from,
                                const tort_tensor *to, tort_call *call);

#endif
