/* layouts.h - layouts of the providers of a chain. */
#ifndef TORT_RUNTIME_PROVIDERS_LAYOUTS_H
#define TORT_RUNTIME_PROVIDERS_LAYOUTS_H

#include "runtime/lowered/lowered.h"

/* Checks the rows of providers that opened, and lists their layouts: after chain.c. Then: can what a row
 * reads and writes in its layout be there; can a value be in this one, which is not plain; bytes of a tensor in one
 * (false: more than can be counted, or it does not fit); from plain into one, or back, where `call` has device, stream,
 * env, node, text and error. */
tort_status tort_layouts_open(tort_session *session, tort_error *error);
tort_verdict tort_layout_claim(const tort_session *session, const tort_link *link, const tort_kernel *row,
                               const tort_node_view *view);
bool tort_layout_fits(const tort_session *session, int32_t layout, const tort_info *info);
bool tort_layout_bytes(const tort_session *session, int32_t layout, const tort_tensor *tensor, size_t *bytes);
tort_status tort_layout_convert(const tort_session *session, int32_t layout, bool to_plain, const tort_tensor *from,
                                const tort_tensor *to, tort_call *call);

#endif
