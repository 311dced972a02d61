/* plan_record.c - decides whether a run is the work of one device from begin to end, so that its provider may record it
 * once (as a CUDA graph) and launch it as a whole.
 *
 * Then nothing in the run may depend on computed data: no step of the host or of another provider lies between
 * its steps, and host values that kernels read belong to the plan. Decided once an outline. Read first:
 * plan_steps.c; then run.c. */
#include "runtime/core/plan/plan_parts.h"

/* True if the kernel reads host memory that differs from run to run: neither constants nor literals. */
static bool reads_host(const tort_plan *plan, const tort_step *step) {
    bool reads = false;
    for (int32_t i = 0; i < step->input_count; i++) {
        const int32_t slot = plan->operands[step->operands + i];
        const tort_home home = slot < 0 ? TORT_HOME_CONSTANT : plan->slots[slot].home;
        reads |= home != TORT_HOME_CONSTANT && home != TORT_HOME_LITERAL && !plan->slots[slot].memory;
    }
    return reads;
}

static tort_recording recording_of_kernel(const tort_lowered *lowered, const tort_plan *plan, const tort_step *step) {
    if (step->provider != plan->recorder) return TORT_RECORDING_ELSEWHERE;
    if (!lowered->units[step->node].segment && lowered->graph.nodes[step->node].op->flags & TORT_OP_RANDOM)
        return TORT_RECORDING_RANDOM;
    return reads_host(plan, step) ? TORT_RECORDING_HOST_VALUES : TORT_RECORDING_WHOLE;
}

static tort_recording recording_of(const tort_lowered *lowered, const tort_plan *plan, const tort_step *step) {
    if (step->dynamic) return TORT_RECORDING_DYNAMIC;
    switch (step->kind) {
    case TORT_STEP_KERNEL: return recording_of_kernel(lowered, plan, step);
    case TORT_STEP_CONVERT: return step->provider == plan->recorder ? TORT_RECORDING_WHOLE : TORT_RECORDING_ELSEWHERE;
    case TORT_STEP_COPY: /* a copy alone is harmless: the step that reads the value on the host prevents recording */
        return step->provider >= 0 ? TORT_RECORDING_WHOLE : TORT_RECORDING_ELSEWHERE;
    case TORT_STEP_CALL: return TORT_RECORDING_BODIES;
    case TORT_STEP_SHAPE: return TORT_RECORDING_ELSEWHERE;
    case TORT_STEP_ALIAS:
    case TORT_STEP_VIEW: break;
    }
    return TORT_RECORDING_WHOLE;
}

/* The first provider of the chain that records and owns the streams of its memory; -1: none. */
static int32_t recorder_of(const tort_session *session) {
    for (int32_t i = 0; i < session->chain_count; i++) {
        const tort_link *link = &session->chain[i];
        const bool there = link->provider && (link->opened || link->described);
        if (there && link->provider->recording.can && session->memories[link->memory].owner == link) return i;
    }
    return -1;
}

void tort_plan_decide_recording(const tort_lowered *lowered, tort_plan *plan) {
    plan->recorder = recorder_of(lowered->session);
    plan->recording = TORT_RECORDING_NONE;
    plan->recording_node = -1;
    if (plan->recorder < 0) return;
    plan->recording = TORT_RECORDING_WHOLE;
    for (int32_t i = 0; plan->recording == TORT_RECORDING_WHOLE && i < plan->step_count; i++) {
        plan->recording = recording_of(lowered, plan, &plan->steps[i]);
        if (plan->recording != TORT_RECORDING_WHOLE) plan->recording_node = plan->steps[i].node;
    }
    if (plan->recording == TORT_RECORDING_WHOLE && !plan->complete) plan->recording = TORT_RECORDING_UNKNOWN;
}
