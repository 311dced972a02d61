/* topk.c - TopK: the k largest or smallest elements along an axis, sorted, with their indices.
 *
 * k is an attribute up to opset 9 and an input from 10 on. Elements become 64-bit keys whose order is the wanted one,
 * so that one heap serves every type. */
#include "ops/extent.h"
#include "ops/shapes.h"
#include "ops/topk.h"

#include <string.h>

/* ---- infer and resolve ------------------------------------------------------------------------------------------- */

static tort_status infer_topk(tort_infer *infer) {
    const tort_info *input = &infer->node->inputs[0];
    int32_t axis;
    infer->outputs[0].type = input->type;
    infer->outputs[1].type = TORT_INT64;
    tort_scalar k = tort_scalar_known(tort_attr_int(infer->node, "k"));
    tort_status status = tort_has_input(infer->node, 1) ? tort_read_symbol(infer, 1, "K", &k) : TORT_OK;
    if (status || input->rank < 0) return status;
    status = tort_normalize_axis(infer->error, tort_attr_int(infer->node, "axis"), input->rank, &axis);
    if (status != TORT_OK) return status;
    tort_dim length = input->dims[axis];
    if (!k.symbolic && (k.value < 0 || (tort_dim_known(length) && k.value > length)))
        return tort_fail(infer->error, TORT_E_MODEL, "k is %lld, but axis %d has %lld elements", (long long)k.value,
                         axis, (long long)length);
    tort_dim dims[TORT_MAX_RANK];
    for (int32_t d = 0; d < input->rank; d++) dims[d] = d == axis ? tort_scalar_to_dim(infer->dims, k) : input->dims[d];
    tort_infer_shape(infer, 0, input->type, input->rank, dims);
    tort_infer_shape(infer, 1, TORT_INT64, input->rank, dims);
    return TORT_OK;
}

typedef struct topk_entry {
    uint64_t key; /* greater is better */
    int64_t index;
} topk_entry;

/* Number of workers that share the lanes, each with its own heap in scratch. */
static int64_t worker_count(const tort_topk_params *params) {
    const int64_t max = 64, lanes = params->outer * params->inner;
    return lanes < max ? lanes : max;
}

static tort_status resolve_topk(tort_resolve *resolve) {
    const tort_info *input = &resolve->node->inputs[0];
    const tort_info *output = &resolve->node->outputs[tort_has_output(resolve->node, 0) ? 0 : 1];
    tort_topk_params *params = resolve->params;
    params->largest = resolve->node->opset < 11 || tort_attr_int(resolve->node, "largest") != 0;
    if (input->rank < 0) return TORT_OK;
    int32_t axis;
    tort_status status = tort_normalize_axis(resolve->error, tort_attr_int(resolve->node, "axis"), input->rank, &axis);
    if (status != TORT_OK || !tort_shape_known(input) || !tort_shape_known(output)) return status;
    params->outer = tort_extent(input->dims, 0, axis);
    params->length = input->dims[axis];
    params->inner = tort_extent(input->dims, axis + 1, input->rank);
    params->k = output->dims[axis];
    if (!tort_mul_size((uint64_t)params->k, (uint64_t)worker_count(params) * sizeof(topk_entry),
                       &resolve->scratch_bytes))
        return tort_fail(resolve->error, TORT_E_MEMORY, "k %lld is too large", (long long)params->k);
    return TORT_OK;
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

/* Key of a number: an unsigned integer of the same order; both zeros are equal, NaN is above infinity. */
static uint64_t float_key(double x) {
    uint64_t bits;
    if (x != x) return UINT64_MAX;
    x += 0.0; /* -0 becomes 0 */
    memcpy(&bits, &x, sizeof bits);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static void load_keys(const tort_tensor *input, int64_t first, int64_t count, bool largest, uint64_t *keys) {
    const uint64_t invert = largest ? 0 : UINT64_MAX;
    if (tort_type_is_float(input->type)) {
        double x[TORT_BLOCK];
        tort_load_doubles(input->type, input->data, first, count, x);
        for (int64_t i = 0; i < count; i++) keys[i] = float_key(x[i]) ^ invert;
    } else {
        const uint64_t flip = input->type == TORT_UINT64 ? 0 : (uint64_t)1 << 63;
        int64_t x[TORT_BLOCK];
        tort_load_integers(input->type, input->data, first, count, x);
        for (int64_t i = 0; i < count; i++) keys[i] = (uint64_t)x[i] ^ flip ^ invert;
    }
}

/* ---- the heap ---------------------------------------------------------------------------------------------------- */

static bool worse(topk_entry a, topk_entry b) {
    return a.key < b.key || (a.key == b.key && a.index > b.index);
}

/* Sifts the entry at `at` down in a heap whose worst entry is at 0. */
static void sink(topk_entry *heap, int64_t count, int64_t at) {
    topk_entry entry = heap[at];
    for (;;) {
        int64_t child = 2 * at + 1;
        if (child >= count) break;
        if (child + 1 < count && worse(heap[child + 1], heap[child])) child++;
        if (!worse(heap[child], entry)) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = entry;
}

/* Selects the lane's best k entries into `heap`, best first. False: the run is over, and entries may be missing. */
static bool select_lane(const tort_call *call, int64_t base, topk_entry *heap) {
    const tort_topk_params *params = call->params;
    const tort_tensor *input = &call->inputs[0];
    const int64_t k = params->k;
    uint64_t keys[TORT_BLOCK];
    for (int64_t first = 0; first < params->length;) {
        /* Elements of a lane are `inner` apart: blocks pay only if that is 1. */
        int64_t count = params->inner == 1 ? tort_block_count(params->length, first) : 1;
        load_keys(input, base + first * params->inner, count, params->largest, keys);
        for (int64_t i = 0; i < count; i++) {
            topk_entry entry = {keys[i], first + i};
            if (!tort_row_goes_on(call->watch, first + i)) return false;
            if (first + i < k) {
                heap[first + i] = entry;
                for (int64_t at = first + i == k - 1 ? k / 2 - 1 : -1; at >= 0; at--) {
                    if (!tort_row_goes_on(call->watch, at)) return false;
                    sink(heap, k, at);
                }
            } else if (worse(heap[0], entry)) {
                heap[0] = entry;
                sink(heap, k, 0);
            }
        }
        first += count;
    }
    for (int64_t left = k - 1; left > 0; left--) {
        if (!tort_row_goes_on(call->watch, left)) return false;
        topk_entry worst = heap[0];
        heap[0] = heap[left];
        heap[left] = worst;
        sink(heap, left, 0);
    }
    return true;
}

typedef struct topk_task {
    const tort_call *call;
    const tort_topk_params *params;
    int64_t workers;
} topk_task;

static void topk_lanes(void *arg, int64_t begin, int64_t end) {
    const topk_task *task = arg;
    const tort_topk_params *params = task->params;
    const tort_tensor *input = &task->call->inputs[0];
    const tort_tensor *values = &task->call->outputs[0], *indices = &task->call->outputs[1];
    const int64_t lanes = params->outer * params->inner;
    for (int64_t worker = begin; worker < end; worker++) {
        topk_entry *heap = (topk_entry *)task->call->scratch + worker * params->k;
        for (int64_t lane = worker; lane < lanes; lane += task->workers) {
            int64_t outer = lane / params->inner, inner = lane % params->inner;
            int64_t from = outer * params->length * params->inner + inner;
            int64_t to = outer * params->k * params->inner + inner;
            if (!tort_call_goes_on(task->call, 0) || !select_lane(task->call, from, heap)) return;
            for (int64_t i = 0; i < params->k; i++) {
                int64_t at = to + i * params->inner;
                if (tort_present(values))
                    tort_copy_elements(input->type, values->data, at, input->data, from + heap[i].index * params->inner,
                                       1);
                if (tort_present(indices)) ((int64_t *)indices->data)[at] = heap[i].index;
            }
        }
    }
}

static tort_status topk(const tort_call *call) {
    const tort_topk_params *params = call->params;
    const int64_t lanes = params->outer * params->inner;
    topk_task task = {call, params, worker_count(params)};
    if (lanes == 0 || params->k == 0) return TORT_OK;
    tort_parallel(call, task.workers, lanes / task.workers * params->length * 4, topk_lanes, &task);
    return TORT_OK;
}

#define BY .params_size = sizeof(tort_topk_params), infer_topk, resolve_topk, topk
#define OUTPUTS "Values:T Indices:I"

const tort_op tort_ops_topk[] = {
    {"", "TopK", 1, 9, "X:T", OUTPUTS, "T=floats I=int64", "axis:int=-1 k:int!", 0, 0, BY},
    {"", "TopK", 10, 10, "X:T K:int64", OUTPUTS, "T=floats I=int64", "axis:int=-1", 1u << 1, 0, BY},
    {"", "TopK", 11, 23, "X:T K:int64", OUTPUTS, "T=numeric I=int64", "axis:int=-1 largest:int=1 sorted:int=1", 1u << 1,
     0, BY},
    {"", "TopK", 24, TORT_NEWEST_OPSET, "X:T K:int64", OUTPUTS, "T=numeric13 I=int64",
     "axis:int=-1 largest:int=1 sorted:int=1", 1u << 1, 0, BY},
    {0},
};
