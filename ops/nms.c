/* nms.c - NonMaxSuppression: keeps the box with the best score among boxes that overlap too much.
 *
 * The number of boxes depends on the data: infer runs the selection to count them when it has live data, and the
 * reference runs it again to write them. Areas are computed in float, as other runtimes do, so that thresholds cut
 * alike. */
#include "ops/nms.h"

#include "ops/contents.h"
#include "ops/extent.h"

#include <math.h>

enum { BOXES, SCORES, MAX_BOXES, IOU_THRESHOLD, SCORE_THRESHOLD }; /* inputs */

typedef struct nms_box {
    float score;
    int64_t index;
} nms_box;

/* Input of the selection, and room for one class: arrays of params.boxes entries each. */
typedef struct nms_state {
    tort_nms_params params;
    struct tort_watch *watch;
    const float *boxes, *scores;
    int64_t max_boxes; /* per class */
    float iou_threshold, score_threshold;
    nms_box *heap;
    int64_t *kept;
    float *sides[5]; /* of the kept boxes: x1, y1, x2, y2, area */
} nms_state;

enum { BOX_BYTES = sizeof(nms_box) + sizeof(int64_t) + 5 * sizeof(float) };

static void divide_room(nms_state *state, void *room) {
    const int64_t boxes = state->params.boxes;
    state->heap = room;
    state->kept = (int64_t *)(void *)(state->heap + boxes);
    for (int32_t i = 0; i < 5; i++) state->sides[i] = (float *)(void *)(state->kept + boxes) + i * boxes;
}

/* ---- geometry ---------------------------------------------------------------------------------------------------- */

typedef struct nms_corners {
    float x1, y1, x2, y2; /* x1 <= x2, y1 <= y2 */
} nms_corners;

/* Unlike fminf and fmaxf, which handle NaN, these are one instruction. A box with NaN has no area anyway. */
static inline float smaller(float a, float b) {
    return a < b ? a : b;
}

static inline float larger(float a, float b) {
    return a > b ? a : b;
}

static nms_corners corners_of(const float *box, bool centered) {
    if (centered)
        return (nms_corners){box[0] - box[2] / 2, box[1] - box[3] / 2, box[0] + box[2] / 2, box[1] + box[3] / 2};
    return (nms_corners){smaller(box[1], box[3]), smaller(box[0], box[2]), larger(box[1], box[3]),
                         larger(box[0], box[2])};
}

static float area_of(nms_corners box) {
    return (box.x2 - box.x1) * (box.y2 - box.y1);
}

/* True if the intersection over union of the box with a kept one is above the threshold. Blocks without branches, so
 * that the compiler can vectorize them; areas are only compared in blocks where a kept box has something in common with
 * it. */
static bool overlaps(const nms_state *state, nms_corners a, int64_t kept) {
    enum { BLOCK = 32 };
    const float *x1 = state->sides[0], *y1 = state->sides[1], *x2 = state->sides[2], *y2 = state->sides[3];
    const float *areas = state->sides[4], area = area_of(a), threshold = state->iou_threshold;
    if (!(area > 0)) return false;
    for (int64_t first = 0; first < kept; first += BLOCK) {
        const int64_t last = first + BLOCK < kept ? first + BLOCK : kept;
        int32_t maybe = 0, any = 0;
        for (int64_t i = first; i < last; i++) {
            maybe |= (a.x2 > x1[i]) & (x2[i] > a.x1) & (a.y2 > y1[i]) & (y2[i] > a.y1);
        }
        for (int64_t i = first; i < last && maybe; i++) {
            const float width = smaller(a.x2, x2[i]) - larger(a.x1, x1[i]);
            const float height = smaller(a.y2, y2[i]) - larger(a.y1, y1[i]);
            const float common = width * height, all = area + areas[i] - common;
            any |= (width > 0) & (height > 0) & (areas[i] > 0) & (all > 0) & (common / all > threshold);
        }
        if (any) return true;
    }
    return false;
}

static void keep(nms_state *state, int64_t index, nms_corners box, int64_t at) {
    const float sides[5] = {box.x1, box.y1, box.x2, box.y2, area_of(box)};
    state->kept[at] = index;
    for (int32_t i = 0; i < 5; i++) state->sides[i][at] = sides[i];
}

/* ---- the selection ----------------------------------------------------------------------------------------------- */

/* Without branches, which processors could not foretell. */
static inline bool better(nms_box a, nms_box b) {
    return (a.score > b.score) | ((a.score == b.score) & (a.index < b.index));
}

/* Sifts the box at `at` down in a heap whose best box is at 0. */
static void sink(nms_box *heap, int64_t count, int64_t at) {
    nms_box box = heap[at];
    for (;;) {
        int64_t child = 2 * at + 1;
        if (child >= count) break;
        if (child + 1 < count) child += better(heap[child + 1], heap[child]);
        if (!better(heap[child], box)) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = box;
}

/* Fills state->kept with the selected boxes of one class, best first; returns their number. */
static int64_t select_class(nms_state *state, const float *boxes, const float *scores) {
    int64_t count = 0, kept = 0;
    for (int64_t i = 0; i < state->params.boxes; i++) { /* without a branch; the heap has room for all */
        state->heap[count] = (nms_box){scores[i], i};
        count += scores[i] > state->score_threshold;
    }
    for (int64_t at = count / 2 - 1; at >= 0; at--) sink(state->heap, count, at);
    while (count > 0 && kept < state->max_boxes && tort_goes_on(state->watch, 0)) {
        const int64_t best = state->heap[0].index;
        const nms_corners box = corners_of(boxes + 4 * best, state->params.centered);
        state->heap[0] = state->heap[--count];
        if (count > 0) sink(state->heap, count, 0);
        if (!overlaps(state, box, kept)) keep(state, best, box, kept++);
    }
    return kept;
}

/* Writes (batch, class, box) of every selected box, as far as there is room, unless `out` is NULL; returns their
 * number. */
static int64_t select_boxes(nms_state *state, int64_t *out, int64_t room) {
    const tort_nms_params *params = &state->params;
    int64_t total = 0;
    if (state->max_boxes <= 0) return 0;
    for (int64_t b = 0; b < params->batches; b++)
        for (int64_t c = 0; c < params->classes; c++) {
            const float *scores = state->scores + (b * params->classes + c) * params->boxes;
            int64_t kept = select_class(state, state->boxes + b * params->boxes * 4, scores);
            for (int64_t i = 0; out && i < kept && total + i < room; i++) {
                out[3 * (total + i)] = b;
                out[3 * (total + i) + 1] = c;
                out[3 * (total + i) + 2] = state->kept[i];
            }
            total += kept;
        }
    return total;
}

/* ---- infer, resolve, reference ----------------------------------------------------------------------------------- */

static tort_status read_shapes(const tort_node_view *node, tort_error *error, tort_nms_params *params) {
    const tort_info *boxes = &node->inputs[BOXES], *scores = &node->inputs[SCORES];
    params->centered = tort_attr_int(node, "center_point_box") != 0;
    if (!tort_shape_known(boxes) || !tort_shape_known(scores)) return TORT_OK;
    if (boxes->rank != 3 || scores->rank != 3 || boxes->dims[2] != 4 || boxes->dims[0] != scores->dims[0] ||
        boxes->dims[1] != scores->dims[2])
        return tort_fail(error, TORT_E_MODEL,
                         "expected boxes of shape [batch, boxes, 4] and scores of shape [batch, classes, boxes]");
    params->batches = boxes->dims[0];
    params->boxes = boxes->dims[1];
    params->classes = scores->dims[1];
    return TORT_OK;
}

/* Reads the inputs; `data` of an optional one that is absent is NULL. */
static void read_limits(nms_state *state, const void *const data[5]) {
    state->boxes = data[BOXES];
    state->scores = data[SCORES];
    state->max_boxes = data[MAX_BOXES] ? *(const int64_t *)data[MAX_BOXES] : 0;
    state->iou_threshold = data[IOU_THRESHOLD] ? *(const float *)data[IOU_THRESHOLD] : 0;
    state->score_threshold = data[SCORE_THRESHOLD] ? *(const float *)data[SCORE_THRESHOLD] : -INFINITY;
}

/* True if the tensor is empty, which stands for an absent input. */
static bool is_empty(const tort_info *info) {
    return tort_shape_known(info) && tort_extent(info->dims, 0, info->rank) == 0;
}

static tort_status check_limits(const tort_node_view *node, tort_error *error) {
    static const char *const names[] = {"max_output_boxes_per_class", "iou_threshold", "score_threshold"};
    tort_status status = TORT_OK;
    for (int32_t i = MAX_BOXES; !status && i <= SCORE_THRESHOLD; i++)
        if (tort_has_input(node, i) && !is_empty(&node->inputs[i]))
            status = tort_check_single(node, i, names[i - MAX_BOXES], error);
    return status;
}

static tort_status infer_nms(tort_infer *infer) {
    const tort_node_view *node = infer->node;
    const void *data[5] = {NULL};
    nms_state state = {0};
    /* Boxes are not selected from constants while a model is loaded, which may take long: the run counts them. */
    bool live = tort_shape_known(&node->inputs[BOXES]) && tort_shape_known(&node->inputs[SCORES]) &&
                !node->inputs[SCORES].constant;
    tort_status status = read_shapes(node, infer->error, &state.params);
    if (!status) status = check_limits(node, infer->error);
    if (status != TORT_OK) return status;
    for (int32_t i = 0; i < node->input_count; i++) {
        data[i] = node->inputs[i].data;
        if (tort_has_input(node, i) && !data[i]) live = false;
        if (i >= MAX_BOXES && is_empty(&node->inputs[i])) data[i] = NULL;
    }
    tort_dim dims[2] = {-1, 3};
    if (live) {
        size_t count = (size_t)state.params.boxes;
        read_limits(&state, data);
        void *room = tort_arena_array(infer->arena, count + 1, BOX_BYTES);
        if (!room) return tort_out_of_memory(infer->error, count * BOX_BYTES);
        divide_room(&state, room);
        state.watch = infer->watch;
        dims[0] = select_boxes(&state, NULL, 0);
        if (!tort_goes_on(infer->watch, 0)) return tort_run_is_over(infer->error);
    } else {
        dims[0] = tort_dim_fresh(infer->dims, true);
    }
    tort_infer_shape(infer, 0, TORT_INT64, 2, dims);
    return TORT_OK;
}

static tort_status resolve_nms(tort_resolve *resolve) {
    tort_nms_params *params = resolve->params;
    tort_status status = read_shapes(resolve->node, resolve->error, params);
    if (status != TORT_OK) return status;
    if (!tort_mul_size((uint64_t)params->boxes, BOX_BYTES, &resolve->scratch_bytes))
        return tort_fail(resolve->error, TORT_E_MEMORY, "%lld boxes do not fit in memory", (long long)params->boxes);
    return TORT_OK;
}

static tort_status nms(const tort_call *call) {
    const void *data[5] = {NULL};
    nms_state state = {.params = *(const tort_nms_params *)call->params, .watch = call->watch};
    for (int32_t i = 0; i < call->input_count; i++)
        if (tort_present(&call->inputs[i]) && tort_count(&call->inputs[i]) > 0) data[i] = call->inputs[i].data;
    read_limits(&state, data);
    divide_room(&state, call->scratch);
    const tort_tensor *selected = &call->outputs[0];
    if (tort_count(selected) > 0) select_boxes(&state, selected->data, selected->dims[0]);
    return TORT_OK;
}

const tort_op tort_ops_nms[] = {
    {"", "NonMaxSuppression", 10, 10,
     "boxes:float scores:float max_output_boxes_per_class?:int64 iou_threshold?:float score_threshold?:float",
     "selected_indices:int64", "", "center_point_box:int=0", .shape_inputs = 0x1f,
     .params_size = sizeof(tort_nms_params), infer_nms, resolve_nms, nms},
    {"", "NonMaxSuppression", 11, TORT_NEWEST_OPSET,
     "boxes:float scores:float max_output_boxes_per_class?:int64 iou_threshold?:float score_threshold?:float",
     "selected_indices:int64", "", "center_point_box:int=0", .shape_inputs = 0x1f,
     .params_size = sizeof(tort_nms_params), infer_nms, resolve_nms, nms},
    {0},
};
