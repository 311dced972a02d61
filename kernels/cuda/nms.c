/* nms.c - row of NonMaxSuppression. How many boxes are selected is known only on the device: the row measures, which
 * selects them in scratch memory, and the host reads their number alone. Kernels: nms.cu. */
#include "kernels/cuda/nms.h"

#include "ops/extent.h"
#include "ops/nms.h"

enum { BOXES, SCORES, MAX_BOXES, IOU_THRESHOLD, SCORE_THRESHOLD }; /* inputs */

static size_t room_of(int64_t boxes) {
    size_t room = 1;
    while (room < (size_t)boxes) room *= 2;
    return room;
}

/* Scratch memory: the keys of the lists, then the counts of boxes and their sum. Boxes have numbers of 32 bits. */
static tort_status size_nms(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    const tort_dim *dims = node->inputs[SCORES].dims;
    size_t lists, keys, all = SIZE_MAX;
    (void)target;
    if (dims[2] <= INT32_MAX && tort_mul_size((uint64_t)dims[0], (uint64_t)dims[1], &lists) &&
        tort_mul_size(lists, room_of(dims[2]) + 1, &keys) && tort_mul_size(keys + 1, sizeof(uint64_t), &all)) {
        *scratch = all;
        return TORT_OK;
    }
    return tort_out_of_memory(error, all);
}

#ifdef CUDA_DEVICE
static tort_status prepare(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_nms());
}

/* Data of a limit; NULL if it is absent, or empty, which stands for that. */
static const void *limit_of(const tort_call *call, int32_t i) {
    const tort_tensor *limit = tort_call_input(call, i);
    return limit && tort_count(limit) ? limit->data : NULL;
}

static gpu_nms nms_of(const tort_call *call) {
    const tort_nms_params *params = call->params;
    const cuda_stream *stream = call->stream;
    const size_t lists = (size_t)(params->batches * params->classes), room = room_of(params->boxes);
    return (gpu_nms){.lists = lists,
                     .classes = (size_t)params->classes,
                     .count = (size_t)params->boxes,
                     .centered = params->centered,
                     .boxes = call->inputs[BOXES].data,
                     .scores = call->inputs[SCORES].data,
                     .max_boxes = limit_of(call, MAX_BOXES),
                     .iou_threshold = limit_of(call, IOU_THRESHOLD),
                     .score_threshold = limit_of(call, SCORE_THRESHOLD),
                     .room = room,
                     .keys = call->scratch,
                     .counts = (uint64_t *)call->scratch + lists * room,
                     .arrivals = stream->arrivals,
                     .selected = cuda_output(call, 0)};
}

static tort_status measure(const tort_call *call, tort_info *outputs) {
    const gpu_nms nms = nms_of(call);
    uint64_t found = 0;
    tort_status status = cuda_launched(call, gpu_run_nms_select(cuda_stream_of(call), &nms));
    if (!status && nms.lists && nms.count)
        status = cuda_copy(call->device, call->stream, &found, nms.counts + nms.lists, sizeof found, TORT_TO_HOST,
                           call->error);
    outputs[0].dims[0] = (int64_t)found;
    return status;
}

/* The number of boxes is never known without measuring: infer does not select from constants. */
static tort_status run(const tort_call *call) {
    const gpu_nms nms = nms_of(call);
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    return cuda_launched(call, gpu_run_nms_write(cuda_stream_of(call), &nms));
}
#endif

const tort_kernel tort_cuda_nms_kernels[] = {
    {"", "NonMaxSuppression", "nms", .size = size_nms, .measure = CUDA_MEASURE(measure), .prepare = CUDA_ONLY(prepare),
     .run = CUDA_ONLY(run)},
    {.op = NULL},
};
