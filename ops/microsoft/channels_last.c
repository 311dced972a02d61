/* channels_last.c - tensors with the channels last, seen with the channels first (channels_last.h). */
#include "ops/microsoft/channels_last.h"

#include <string.h>

#include "ops/extent.h"

enum { PLANAR_INPUTS = 16 }; /* no schema of such an operator has more */

/* X and Y, input and output 0 of a node, and the node as a family sees it that has channels first. */
typedef struct planar_view {
    tort_node_view node;
    tort_info inputs[PLANAR_INPUTS], output;
} planar_view;

/* The same tensor with its last dimension in place 1; a rank below 3 stays as it is. */
static tort_info channels_first(const tort_info *info) {
    tort_info first = *info;
    if (info->rank < 3) return first;
    first.dims[1] = info->dims[info->rank - 1];
    for (int32_t d = 2; d < info->rank; d++) first.dims[d] = info->dims[d - 1];
    return first;
}

/* The other way round. */
static void put_channels_last(tort_info *info) {
    if (info->rank < 3) return;
    const tort_dim channels = info->dims[1];
    for (int32_t d = 1; d < info->rank - 1; d++) info->dims[d] = info->dims[d + 1];
    info->dims[info->rank - 1] = channels;
}

static void view_of(const tort_node_view *node, bool channels_last, planar_view *view) {
    view->node = *node;
    for (int32_t i = 0; i < node->input_count && i < PLANAR_INPUTS; i++) view->inputs[i] = node->inputs[i];
    view->node.inputs = view->inputs;
    if (channels_last) view->inputs[0] = channels_first(&node->inputs[0]);
    if (!node->outputs) return;
    view->output = channels_last ? channels_first(&node->outputs[0]) : node->outputs[0];
    view->node.outputs = &view->output;
}

tort_status tort_planar_infer(tort_infer *infer, bool channels_last, tort_status (*family)(tort_infer *infer)) {
    planar_view view;
    view_of(infer->node, channels_last, &view);
    tort_infer inner = *infer;
    inner.node = &view.node;
    tort_status status = family(&inner);
    if (status == TORT_OK && channels_last) put_channels_last(&infer->outputs[0]);
    return status;
}

tort_status tort_planar_resolve(tort_resolve *resolve, bool channels_last, void *params,
                                tort_status (*family)(tort_resolve *resolve)) {
    planar_view view;
    view_of(resolve->node, channels_last, &view);
    tort_resolve inner = *resolve;
    inner.node = &view.node;
    inner.params = params;
    tort_status status = family(&inner);
    resolve->scratch_bytes = inner.scratch_bytes;
    return status;
}

typedef struct move_job {
    size_t size;
    const char *from;
    char *to;
    int64_t rows, columns;
} move_job;

/* Rows of all batches of the result: column `row` of what is moved. */
static void move_rows(void *arg, int64_t begin, int64_t end) {
    const move_job *job = arg;
    for (int64_t row = begin; row < end; row++) {
        const int64_t matrix = row / job->columns * job->columns * job->rows, column = row % job->columns;
        char *to = job->to + (size_t)(matrix + column * job->rows) * job->size;
        const char *from = job->from + (size_t)(matrix + column) * job->size;
        for (int64_t i = 0; i < job->rows; i++)
            tort_copy_element(to + (size_t)i * job->size, from + (size_t)(i * job->columns) * job->size, job->size);
    }
}

void tort_channels_move(const tort_call *call, size_t size, const void *from, void *to, int64_t batch, int64_t rows,
                        int64_t columns) {
    move_job job = {.size = size, .from = from, .to = to, .rows = rows, .columns = columns};
    tort_parallel(call, batch * columns, rows, move_rows, &job);
}

/* ---- kernels for channels first ---------------------------------------------------------------------------------- */

static bool add_tensor(const tort_info *info, size_t *bytes) {
    size_t aligned;
    return tort_align_size((size_t)tort_extent(info->dims, 0, info->rank), TORT_HOST_ALIGN, &aligned) &&
           tort_add_size(*bytes, aligned, bytes);
}

bool tort_planar_scratch(const tort_node_view *node, size_t *bytes) {
    const tort_info *x = &node->inputs[0], *y = &node->outputs[0];
    if (!tort_shape_known(x) || !tort_shape_known(y)) return true;
    return add_tensor(x, bytes) && add_tensor(y, bytes);
}

static tort_tensor planar(const tort_tensor *tensor, char **scratch) {
    tort_tensor first = *tensor;
    const size_t bytes = (size_t)tort_count(tensor);
    for (int32_t d = 2; d < tensor->rank; d++) first.dims[d] = tensor->dims[d - 1];
    if (tensor->rank > 2) first.dims[1] = tensor->dims[tensor->rank - 1];
    first.data = *scratch;
    *scratch += (bytes + TORT_HOST_ALIGN - 1) / TORT_HOST_ALIGN * TORT_HOST_ALIGN;
    return first;
}

tort_status tort_planar_run(const tort_call *call, tort_status (*run)(const tort_call *call)) {
    char *scratch = call->scratch;
    tort_tensor inputs[PLANAR_INPUTS];
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    if (tort_count(y) == 0) return TORT_OK;
    memcpy(inputs, call->inputs, (size_t)call->input_count * sizeof *inputs);
    inputs[0] = planar(x, &scratch);
    const tort_tensor output = planar(y, &scratch);
    tort_call inner = *call;
    inner.inputs = inputs;
    inner.outputs = &output;
    inner.scratch = scratch;
    const int64_t channels = inputs[0].dims[1], filters = output.dims[1];
    if (tort_count(x) > 0)
        tort_channels_move(call, 1, x->data, inputs[0].data, x->dims[0], tort_count(x) / (x->dims[0] * channels),
                           channels);
    tort_status status = run(&inner);
    if (status == TORT_OK)
        tort_channels_move(call, 1, output.data, y->data, y->dims[0], filters, tort_count(y) / (y->dims[0] * filters));
    return status;
}
