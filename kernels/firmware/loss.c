/* loss.c - NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss of floats. */
#include "ops/loss.h"
#include "kernels/firmware/code/log_softmax.h"
#include "kernels/firmware/code/loss.h"
#include "kernels/firmware/firmware.h"
#include "ops/index.h"

/* Before a run on the host: every target is a class, or ignored. */
static tort_status check_targets(const tort_call *call) {
    const tort_loss_params *p = call->params;
    for (int64_t i = 0; i < p->batch * p->inner && !tort_firmware_emit_of(call); i++) {
        const int64_t target = tort_index_at(&call->inputs[1], i);
        if ((target < 0 || target >= p->classes) && !(p->ignores && target == p->ignore_index))
            return tort_fail(call->error, TORT_E_RUN, "target %lld of sample %lld is not in [0, %lld)",
                             (long long)target, (long long)i, (long long)p->classes);
    }
    return TORT_OK;
}

/* Log probabilities that are an output come first: the loss reads them. */
static tort_status run_loss(const tort_call *call) {
    const tort_loss_params *p = call->params;
    const int32_t batch = (int32_t)p->batch, classes = (int32_t)p->classes, inner = (int32_t)p->inner;
    const bool ignores = p->ignores && p->ignore_index >= 0 && p->ignore_index < p->classes;
    const void *x = call->inputs[0].data;
    float *log_prob = classes ? tort_firmware_output(call, 1) : NULL;
    const tinyort_log_softmax_shape softmax = {batch, classes, inner};
    const tinyort_loss_shape shape = {.type = tort_firmware_number_type(call->inputs[1].type),
                                      .batch = batch,
                                      .classes = classes,
                                      .inner = inner,
                                      .reduction = (int32_t)p->reduction, /* as loss.h counts them */
                                      .ignored = ignores ? (int32_t)p->ignore_index : -1,
                                      .softmax = call->kernel->variant && !log_prob};
    tort_status status = check_targets(call);
    if (!status && log_prob) status = TORT_FIRMWARE_CALL(call, tinyort_log_softmax, &softmax, x, log_prob);
    return status ? status
                  : TORT_FIRMWARE_CALL(call, tinyort_loss, &shape, log_prob ? log_prob : x, call->inputs[1].data,
                                       tort_firmware_input(call, 2), call->outputs[0].data);
}

#define ROW(op_, softmax)                                                                                              \
    {                                                                                                                  \
        .domain = "", .op = op_, .name = "loss", .claim = tort_firmware_claim_first_float, .run = run_loss,            \
        .emit = tort_firmware_emit, .variant = softmax                                                                 \
    }

const tort_kernel tort_firmware_loss[] = {
    ROW("NegativeLogLikelihoodLoss", 0),
    ROW("SoftmaxCrossEntropyLoss", 1),
    {.op = NULL},
};
