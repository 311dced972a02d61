/* channels_last.c - shapes and transposed copies of tensors with the channels last (channels_last.h). */
#include "ops/microsoft/channels_last.h"

#include <string.h>

#include "ops/extent.h"

enum { PLANAR_INPUTS = 16 }; /* no schema of such an operator has more */

/* View of a node whose input 0 and output 0 have the channels first, for a family of ONNX. */
typedef struct planar_view {
    tort_node_view node;
    tort_info inputs[PLANAR_INPUTS], output;
} planar_view;

/* Shape of the same tensor with its last dimension moved to axis 1; a rank below 3 stays as it is. */
static tort_info channels_first(const tort_info *info) {
    tort_info first = *info;
    if (info->rank < 3) return first;
    first.dims[1] = info->dims[info->rank - 1];
    for (int32_t d = 2; d < info->rank; d++) first.dims[d] = info->dims[d - 1];
    return first;
}

/* Moves dimension 1 of a shape to the end. */
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

/* ---- kernels for channels first ---------------------------------------------------------------------------------- */

enum { TILE = 16 }; /* rows and columns of a tile: as many cache lines are read and written side by side */

/* Transposition of `rows` x `columns` matrices, tile by tile. */
typedef struct move_job {
    size_t size; /* of an element */
    const char *from;
    char *to;
    int64_t rows, columns, row_tiles, column_tiles;
} move_job;

static int64_t tile_end(int64_t first, int64_t count) {
    return first + TILE < count ? first + TILE : count;
}

/* Transposes a tile. Callers pass a constant `size`, so that an element is a plain move. */
static inline void move_tile(const move_job *job, size_t size, int64_t tile) {
    const int64_t matrix = tile / (job->row_tiles * job->column_tiles) * job->rows * job->columns;
    const int64_t row = tile / job->column_tiles % job->row_tiles * TILE, row_end = tile_end(row, job->rows);
    const int64_t column = tile % job->column_tiles * TILE, column_end = tile_end(column, job->columns);
    for (int64_t c = column; c < column_end; c++) {
        char *to = job->to + (size_t)(matrix + c * job->rows) * size;
        const char *from = job->from + (size_t)(matrix + c) * size;
        for (int64_t r = row; r < row_end; r++)
            memcpy(to + (size_t)r * size, from + (size_t)(r * job->columns) * size, size);
    }
}

static void move_tiles(void *arg, int64_t begin, int64_t end) {
    const move_job *job = arg;
    for (int64_t tile = begin; tile < end; tile++) {
        switch (job->size) {
        case 1: move_tile(job, 1, tile); break;
        case 2: move_tile(job, 2, tile); break;
        case 4: move_tile(job, 4, tile); break;
        default: move_tile(job, 8, tile); break;
        }
    }
}

/* Copies (batch, rows, columns) to (batch, columns, rows), elements of `size` bytes. */
static void move_channels(const tort_call *call, size_t size, const void *from, void *to, int64_t batch, int64_t rows,
                          int64_t columns) {
    move_job job = {.size = size, .from = from, .to = to, .rows = rows, .columns = columns};
    job.row_tiles = (rows + TILE - 1) / TILE;
    job.column_tiles = (columns + TILE - 1) / TILE;
    tort_parallel(call, batch * job.row_tiles * job.column_tiles, TILE * TILE, move_tiles, &job);
}

static bool add_tensor(const tort_info *info, size_t *bytes) {
    const size_t count = (size_t)tort_extent(info->dims, 0, info->rank);
    size_t size;
    return tort_mul_size(count, (uint64_t)tort_type_bits(info->type) / 8, &size) &&
           tort_align_size(size, TORT_HOST_ALIGN, &size) && tort_add_size(*bytes, size, bytes);
}

static bool is_moved(uint32_t inputs, int32_t i) {
    return (inputs >> i & 1) != 0;
}

bool tort_planar_scratch(const tort_node_view *node, uint32_t inputs, size_t *bytes) {
    size_t total = *bytes;
    if (!tort_shape_known(&node->outputs[0])) return true;
    for (int32_t i = 0; i < node->input_count; i++) {
        if (!is_moved(inputs, i) || !tort_has_input(node, i)) continue;
        if (!tort_shape_known(&node->inputs[i])) return true;
        if (!add_tensor(&node->inputs[i], &total)) return false;
    }
    if (!add_tensor(&node->outputs[0], &total)) return false;
    *bytes = total;
    return true;
}

static size_t element_size(const tort_tensor *tensor) {
    return (size_t)tort_type_bits(tensor->type) / 8;
}

static tort_tensor planar(const tort_tensor *tensor, char **scratch) {
    tort_tensor first = *tensor;
    const size_t bytes = (size_t)tort_count(tensor) * element_size(tensor);
    for (int32_t d = 2; d < tensor->rank; d++) first.dims[d] = tensor->dims[d - 1];
    if (tensor->rank > 2) first.dims[1] = tensor->dims[tensor->rank - 1];
    first.data = *scratch;
    *scratch += (bytes + TORT_HOST_ALIGN - 1) / TORT_HOST_ALIGN * TORT_HOST_ALIGN;
    return first;
}

/* Copies an input with its channels first to *scratch. */
static tort_tensor move_first(const tort_call *call, const tort_tensor *input, char **scratch) {
    const tort_tensor first = planar(input, scratch);
    const int64_t count = tort_count(input), channels = first.dims[1];
    if (count > 0)
        move_channels(call, element_size(input), input->data, first.data, input->dims[0],
                      count / (input->dims[0] * channels), channels);
    return first;
}

tort_status tort_planar_run(const tort_call *call, uint32_t inputs, tort_status (*run)(const tort_call *call)) {
    char *scratch = call->scratch;
    tort_tensor moved[PLANAR_INPUTS];
    const tort_tensor *y = &call->outputs[0];
    if (tort_count(y) == 0) return TORT_OK;
    for (int32_t i = 0; i < call->input_count; i++) {
        const tort_tensor *input = &call->inputs[i];
        moved[i] = is_moved(inputs, i) && tort_present(input) ? move_first(call, input, &scratch) : *input;
    }
    const tort_tensor output = planar(y, &scratch);
    tort_call inner = *call;
    inner.inputs = moved;
    inner.outputs = &output;
    inner.scratch = scratch;
    tort_status status = run(&inner);
    const int64_t filters = output.dims[1];
    if (status == TORT_OK)
        move_channels(call, element_size(y), output.data, y->data, y->dims[0], filters,
                      tort_count(y) / (y->dims[0] * filters));
    return status;
}
