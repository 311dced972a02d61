/* convert.c - converts a value between plain and a layout during a run: for a step, or for an observer.
 *
 * The plan decides which values are converted. Read next: runtime/core/providers/layouts.c. */
#include "runtime/core/run/context.h"
#include "runtime/core/providers/layouts.h"

tort_status tort_frame_convert(const tort_frame *frame, int32_t layout, bool to_plain, const tort_tensor *from,
                               const tort_tensor *to, int32_t node, tort_error *error) {
    tort_context *context = frame->context;
    const tort_link *link = context->session->layouts[layout].link;
    tort_call call = {.device = link->device,
                      .stream = context->streams[link->memory],
                      .env = &context->env,
                      .node = node < 0 ? -1 : frame->lowered->graph.first + node,
                      .text = context->text,
                      .watch = &context->watch,
                      .error = error};
    return tort_layout_convert(context->session, layout, to_plain, from, to, &call);
}
