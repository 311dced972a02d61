/* sequences.c - operators whose integers are positions in sequences, or lengths of them: RotaryEmbedding,
 * ReverseSequence, TensorScatter. On the host, every integer is checked before the run. */
#include "kernels/firmware/code/reverse_sequence.h"
#include "kernels/firmware/code/rotary.h"
#include "kernels/firmware/code/tensor_scatter.h"
#include "kernels/firmware/firmware.h"
#include "ops/extent.h"
#include "ops/index.h"
#include "ops/reverse_sequence.h"
#include "ops/rotary.h"
#include "ops/tensor_scatter.h"

static tort_status check(const tort_call *call, const tort_tensor *numbers, int64_t max) {
    for (int64_t i = 0; numbers && !tort_firmware_emit_of(call) && i < tort_count(numbers); i++) {
        const int64_t number = tort_index_at(numbers, i);
        if (number < 0 || number > max)
            return tort_fail(call->error, TORT_E_RUN, "number %lld is %lld, expected 0 to %lld", (long long)i,
                             (long long)number, (long long)max);
    }
    return TORT_OK;
}

/* ---- RotaryEmbedding --------------------------------------------------------------------------------------------- */

/* Input 0 and the caches are floats; positions are always integers. */
static tort_status run_rotary(const tort_call *call) {
    const tort_rotary_params *p = call->params;
    const int64_t *positions = tort_firmware_input(call, (int32_t)p->positions);
    const tinyort_rotary_shape shape = {
        .batch = (int32_t)p->batch,
        .length = (int32_t)p->length,
        .heads = (int32_t)p->heads,
        .size = (int32_t)p->size,
        .rotated = (int32_t)p->rotated,
        .interleaved = p->interleaved,
        .cached = (int32_t)p->cache_length,
        .chain = p->first_only,
        .steps = {(int32_t)p->strides.batch, (int32_t)p->strides.position, (int32_t)p->strides.head}};
    if (positions && !p->cache_length) return tort_fail(call->error, TORT_E_RUN, "the caches have no row");
    const tort_status status = tort_firmware_emit_of(call) ? TORT_OK : tort_rotary_check(call);
    return status
               ? status
               : TORT_FIRMWARE_CALL(call, tinyort_rotary, &shape, call->inputs[0].data, positions,
                                    call->inputs[p->cosines].data, call->inputs[p->sines].data, call->outputs[0].data);
}

/* ---- ReverseSequence --------------------------------------------------------------------------------------------- */

static tort_status run_reverse(const tort_call *call) {
    const bool batch_first = ((const tort_reverse_params *)call->params)->batch_first;
    const tort_tensor *x = &call->inputs[0];
    const int32_t batches = (int32_t)x->dims[!batch_first], times = (int32_t)x->dims[batch_first];
    const tinyort_reverse_sequence_shape shape = {batches, times, batch_first ? times : 1, batch_first ? 1 : batches,
                                                  (int32_t)tort_extent(x->dims, 2, x->rank) * tort_type_bits(x->type) /
                                                      8};
    const tort_status status = check(call, &call->inputs[1], times);
    return status ? status
                  : TORT_FIRMWARE_CALL(call, tinyort_reverse_sequence, &shape, x->data, call->inputs[1].data,
                                       call->outputs[0].data);
}

/* ---- TensorScatter ----------------------------------------------------------------------------------------------- */

static tort_status run_scatter(const tort_call *call) {
    const tort_tensor_scatter_params *p = call->params;
    const tort_tensor *x = &call->inputs[0], *updates = &call->inputs[1];
    const tinyort_tensor_scatter_shape shape = {.batch = (int32_t)x->dims[0],
                                                .outer = (int32_t)tort_extent(x->dims, 1, p->axis),
                                                .length = (int32_t)x->dims[p->axis],
                                                .count = (int32_t)updates->dims[p->axis],
                                                .slice = (int32_t)tort_extent(x->dims, p->axis + 1, x->rank) *
                                                         tort_type_bits(x->type) / 8,
                                                .circular = p->circular};
    const tort_status status =
        check(call, tort_call_input(call, 2), p->circular ? INT64_MAX : shape.length - shape.count);
    return status ? status
                  : TORT_FIRMWARE_CALL(call, tinyort_tensor_scatter, &shape, x->data, updates->data,
                                       tort_firmware_input(call, 2), call->outputs[0].data);
}

#define ROW(domain_, op_, name_, claim_, run_, in_place_)                                                              \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = name_, .claim = claim_, .run = run_, .emit = tort_firmware_emit,         \
        .in_place = in_place_                                                                                          \
    }

const tort_kernel tort_firmware_sequences[] = {
    ROW("", "RotaryEmbedding", "rotary", tort_firmware_claim_first_float, run_rotary, 0),
    ROW("com.microsoft", "RotaryEmbedding", "rotary", tort_firmware_claim_first_float, run_rotary, 0),
    ROW("", "ReverseSequence", "reverse_sequence", tort_firmware_claim_bytes, run_reverse, 0),
    ROW("", "TensorScatter", "tensor_scatter", tort_firmware_claim_bytes, run_scatter, 1),
    {.op = NULL},
};
