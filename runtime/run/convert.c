/* convert.c - a value of a run brought from plain into a layout, or back: a step, or what an observer is shown.
 *
 * Which values are converted, and where, is the plan's. Read next: runtime/providers/layouts.c. */
#include "runtime/run/context.h"
#include "runtime/providers/layouts.h"

tort_status tort_frame_convert(const tort_frame *frame, int32_t layout, bool to_plain, const tort_tensor *from,
                               const tort_tensor *to, int32_t node, tort_error *error) {
    const tort_context *context = frame->context;
    const tort_link *link = context->session->layouts[layout].link;
    tort_call call = {.device = link->device,
                      .stream = context->streams[link->memory],
                      .env = &context->env,
                      .node = node < 0 ? -1 : frame->lowered->graph.first + node,
                      .text = context->text,
                      .error = error};
    return tort_layout_convert(context->session, layout, to_plain, from, to, &call);
}
