/* plan_record.c - decides how many of a plan's first steps are the work of one device, so that its provider may record
 * them once (as a CUDA graph) and launch them as one: at best all.
 *
 * Nothing in these steps may depend on computed data: no step of the host or of another provider lies between them, and
 * host values that kernels read belong to the plan. A detector is recorded up to its NonMaxSuppression, whose result
 * has as many rows as boxes are found. Decided once an outline. Read first: plan_steps.c; then run.c. */
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

/* True for a copy that the host waits for, as it reads it within the run. */
static bool is_awaited(const tort_step *step) {
    return step->kind == TORT_STEP_COPY && step->direction == TORT_TO_HOST && !step->late;
}

/* How many of the steps before `end` are recorded: none if fewer than four launches would become one. */
static int32_t recorded_before(const tort_plan *plan, int32_t end) {
    int32_t work = 0, count = 0;
    for (; count < end && !is_awaited(&plan->steps[count]); count++) work += tort_step_is_work(&plan->steps[count]);
    return work < 4 ? 0 : count;
}

void tort_plan_decide_recording(const tort_lowered *lowered, tort_plan *plan) {
    int32_t first = 0; /* step that prevents recording */
    plan->recorder = recorder_of(lowered->session);
    plan->recording = TORT_RECORDING_NONE;
    plan->recording_node = -1;
    plan->recorded_steps = 0;
    if (plan->recorder < 0) return;
    plan->recording = TORT_RECORDING_WHOLE;
    while (plan->recording == TORT_RECORDING_WHOLE && first < plan->step_count)
        plan->recording = recording_of(lowered, plan, &plan->steps[first++]);
    if (plan->recording == TORT_RECORDING_WHOLE) {
        if (!plan->complete) plan->recording = TORT_RECORDING_UNKNOWN;
        if (plan->complete) plan->recorded_steps = plan->step_count;
    } else {
        plan->recorded_steps = recorded_before(plan, first - 1);
        plan->recording_node = plan->steps[first - 1].node;
    }
}
