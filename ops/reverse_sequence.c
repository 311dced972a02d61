/* reverse_sequence.c - ReverseSequence: reverses the first sequence_lens[b] steps of each sequence b of a batch. */
#include "ops/reverse_sequence.h"

#include "ops/index.h"
#include "ops/numeric.h"
#include "ops/shapes.h"
#include "ops/strided.h"

static tort_status reverse_infer(tort_infer *infer) {
    const tort_node_view *node = infer->node;
    const tort_info *input = &node->inputs[0], *lengths = &node->inputs[1];
    int64_t batch = tort_attr_int(node, "batch_axis"), time = tort_attr_int(node, "time_axis");
    if (batch < 0 || batch > 1 || time != 1 - batch) {
        return tort_fail(infer->error, TORT_E_MODEL, "batch_axis %lld and time_axis %lld must be 0 and 1 or 1 and 0",
                         (long long)batch, (long long)time);
    }
    if (input->rank >= 0 && input->rank < 2) {
        return tort_fail(infer->error, TORT_E_MODEL, "the input must have at least two dimensions; it has rank %d",
                         (int)input->rank);
    }
    if (lengths->rank >= 0 && lengths->rank != 1) {
        return tort_fail(infer->error, TORT_E_MODEL,
                         "sequence_lens has rank %d, expected a list with one for each of "
                         "the batch",
                         (int)lengths->rank);
    }
    if (input->rank >= 0 && lengths->rank == 1) {
        tort_dim unified;
        tort_status status =
            tort_dim_unify(infer->error, (int32_t)batch, input->dims[batch], lengths->dims[0], &unified);
        if (status) return status;
    }
    tort_infer_same(infer, 0, 0);
    return TORT_OK;
}

static tort_status reverse_resolve(tort_resolve *resolve) {
    ((tort_reverse_params *)resolve->params)->batch_first = tort_attr_int(resolve->node, "batch_axis") == 0;
    return TORT_OK;
}

static tort_status reverse_reference(const tort_call *call) {
    const tort_reverse_params *params = call->params;
    const tort_tensor *input = &call->inputs[0];
    int64_t batches = input->dims[params->batch_first ? 0 : 1], times = input->dims[params->batch_first ? 1 : 0];
    int64_t inner = 1, batch_stride = params->batch_first ? times : 1, time_stride = params->batch_first ? 1 : batches;
    for (int32_t k = 2; k < input->rank; k++) inner *= input->dims[k];
    int64_t done = 0;
    for (int64_t b = 0; b < batches; b++) {
        const int64_t length = tort_index_at(&call->inputs[1], b);
        if (length < 0 || length > times) {
            return tort_fail(call->error, TORT_E_RUN, "sequence_lens[%lld] is %lld, not in [0, %lld]", (long long)b,
                             (long long)length, (long long)times);
        }
        for (int64_t t = 0; t < times; t++) {
            int64_t from = t < length ? length - 1 - t : t;
            if (!tort_copy_run(call->watch, &done, input->type, call->outputs[0].data,
                               (b * batch_stride + t * time_stride) * inner, input->data,
                               (b * batch_stride + from * time_stride) * inner, inner))
                return TORT_OK;
        }
    }
    return TORT_OK;
}

#define REVERSE_SEQUENCE(SINCE, UNTIL, ALL)                                                                            \
    {                                                                                                                  \
        "", "ReverseSequence", SINCE, UNTIL, "input:T sequence_lens:int64", "Y:T", "T=" ALL,                           \
            "batch_axis:int=1 time_axis:int=0", .params_size = sizeof(tort_reverse_params), reverse_infer,             \
                                                reverse_resolve, reverse_reference                                     \
    }

const tort_op tort_ops_reverse_sequence[] = {
    REVERSE_SEQUENCE(10, 27, "all"),
    REVERSE_SEQUENCE(28, TORT_NEWEST_OPSET, "all13"),
    {0},
};
