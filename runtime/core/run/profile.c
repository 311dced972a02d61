/* profile.c - tells an application the time and the work of each step (tort_context_profile), and the calls that a run
 * made to its devices (tort_context_calls).
 *
 * Bytes are computed from the shapes of operands, FLOPs from the table of ops/ and the step's params; segments have
 * none, but an engine may know the times of their parts. This file must not change what it measures. Read next: run.c,
 * ops/flops.c. */
#include <string.h>

#include "runtime/core/graph/check.h"
#include "runtime/core/run/context.h"
#include "runtime/core/providers/chain.h"
#include "runtime/core/providers/link.h"

/* ---- work -------------------------------------------------------------------------------------------------------- */

/* The shape of an operand; of a packed input it is only in the plan. False: it is not a tensor, or absent. */
static bool operand_of(const tort_frame *frame, const tort_step *step, int32_t i, tort_tensor *tensor) {
    const tort_plan *plan = &frame->planned->plan;
    const tort_node *node = tort_unit_node(frame->lowered, step->node);
    const int32_t slot = plan->operands[step->operands + i];
    const int32_t value = i < step->input_count ? node->inputs[i] : -1;
    if (slot >= 0) {
        *tensor = frame->tensors[slot];
        return frame->lowered->infos[plan->slots[slot].value].kind == TORT_TENSOR;
    }
    return value >= 0 && tort_info_tensor(&frame->planned->infos[value], tensor);
}

static double bytes_of(const tort_frame *frame, const tort_step *step, int32_t first, int32_t count) {
    double sum = 0;
    for (int32_t i = first; i < first + count; i++) {
        tort_tensor tensor;
        size_t bytes;
        if (operand_of(frame, step, i, &tensor) && tort_tensor_bytes(&tensor, &bytes)) sum += (double)bytes;
    }
    return sum;
}

/* True if two operands have the same element type. */
static bool same_type(const tort_frame *frame, int32_t a, int32_t b) {
    const tort_plan *plan = &frame->planned->plan;
    const int32_t first = plan->operands[a], second = plan->operands[b];
    return first >= 0 && second >= 0 && plan->slots[first].type == plan->slots[second].type;
}

/* Bytes read and written. Of an input from which only parts are taken (Slice, Gather) no
 * more than the outputs count. */
static double kernel_bytes(const tort_frame *frame, const tort_step *step) {
    const bool whole_node = !frame->lowered->units[step->node].segment;
    const uint32_t flags = whole_node ? frame->lowered->graph.nodes[step->node].op->flags : 0;
    const bool picks = (flags & (TORT_OP_PARTS | TORT_OP_PICKS)) && step->input_count > 0 &&
                       same_type(frame, step->operands, step->operands + step->input_count);
    const double outputs = bytes_of(frame, step, step->input_count, step->output_count);
    double inputs = bytes_of(frame, step, picks, step->input_count - picks);
    if (picks) {
        const double whole = bytes_of(frame, step, 0, 1);
        inputs += whole < outputs ? whole : outputs;
    }
    return inputs + outputs;
}

static void find_work(const tort_frame *frame, const tort_step *step, tort_profile_step *told) {
    const tort_plan *plan = &frame->planned->plan;
    size_t bytes;
    switch (step->kind) {
    case TORT_STEP_KERNEL:
        if (step->values) return;
        told->bytes = kernel_bytes(frame, step);
        if (!frame->lowered->units[step->node].segment)
            told->flops = tort_op_flops(frame->lowered->graph.nodes[step->node].op, tort_frame_params(frame, step));
        return;
    case TORT_STEP_COPY:
    case TORT_STEP_CONVERT:
        if (tort_tensor_bytes(&frame->tensors[plan->operands[step->operands]], &bytes)) told->bytes = 2 * (double)bytes;
        return;
    case TORT_STEP_ALIAS:
    case TORT_STEP_SHAPE:
    case TORT_STEP_VIEW: told->bytes = 0; return;
    case TORT_STEP_CALL: return;
    }
}

/* ---- telling ----------------------------------------------------------------------------------------------------- */

static tort_profiled what_of(const tort_step *step) {
    if (step->kind == TORT_STEP_COPY) return TORT_PROFILED_COPY;
    return step->kind == TORT_STEP_CONVERT ? TORT_PROFILED_CONVERSION : TORT_PROFILED_NODE;
}

/* Tells the parts of a segment's last run, one after the other; returns their time, which is no more than `limit`. */
static int64_t tell_parts(const tort_frame *frame, const tort_step *step, int64_t begin, int64_t limit) {
    enum { MAX_PARTS = 256 };
    const tort_context *context = frame->context;
    const tort_unit *unit = &frame->lowered->units[step->node];
    const tort_link *link = &context->session->chain[step->provider];
    tort_engine_time times[MAX_PARTS];
    int32_t count =
        link->provider->engine->times(link->device, unit->prepared, frame->states[step->node], times, MAX_PARTS);
    int64_t spent = 0;
    if (count > MAX_PARTS) count = MAX_PARTS;
    for (int32_t i = 0; i < count; i++) {
        const int64_t left = limit - spent, ns = times[i].ns < (uint64_t)left ? (int64_t)times[i].ns : left;
        context->profiler(context->profiler_ud, &(tort_profile_step){.what = TORT_PROFILED_PART,
                                                                     .node = frame->lowered->graph.first + step->node,
                                                                     .provider = link->provider->name,
                                                                     .begin = begin + spent,
                                                                     .end = begin + spent + ns,
                                                                     .bytes = -1,
                                                                     .flops = -1,
                                                                     .part = i,
                                                                     .part_name = times[i].name,
                                                                     .part_op = times[i].kind});
        spent += ns;
    }
    return spent;
}

static bool has_parts(const tort_frame *frame, const tort_step *step) {
    if (step->kind != TORT_STEP_KERNEL || !frame->states || !frame->states[step->node]) return false;
    return frame->context->session->chain[step->provider].provider->engine->times != NULL;
}

static void tell(tort_frame *frame, const tort_step *step, int64_t begin) {
    tort_context *context = frame->context;
    const tort_session *session = context->session;
    tort_profile_step told = {.what = what_of(step),
                              .node = step->node < 0 ? -1 : frame->lowered->graph.first + step->node,
                              .provider = step->provider < 0 ? "host" : session->chain[step->provider].provider->name,
                              .begin = begin,
                              .end = tort_now(),
                              .inside = context->profiled,
                              .bytes = -1,
                              .flops = -1};
    context->told_until = told.end;
    context->profiled = told.end - begin;
    if (context->profiles_work)
        find_work(frame, step, &told);
    else if (has_parts(frame, step))
        told.inside += tell_parts(frame, step, begin, told.end - begin);
    context->profiler(context->profiler_ud, &told);
}

/* A step begins where the one before ended: a second reading of the clock would cost as much as a small step. The
 * device is waited for, so that the time of a step is not counted for the next one. */
static tort_status run_and_tell(tort_frame *frame, const tort_step *step, tort_step_run *run, tort_error *error) {
    tort_context *context = frame->context;
    const int64_t outside = context->profiled, begin = context->told_until;
    if (!step) {
        context->told_until = tort_now();
        return TORT_OK;
    }
    context->profiled = 0;
    tort_status status = run ? run(frame, step, error) : TORT_OK;
    if (!status && step->provider >= 0) {
        const tort_link *link = &context->session->chain[step->provider];
        status = tort_link_sync(link, context->streams[link->memory], error);
    }
    if (!status) tell(frame, step, begin);
    context->profiled += outside;
    return status;
}

void tort_context_profile(tort_context *context, bool work, tort_profiler profiler, void *ud) {
    if (!context) return;
    context->profiles_work = work;
    context->tell = profiler ? run_and_tell : NULL;
    context->profiler = profiler;
    context->profiler_ud = ud;
}

tort_status tort_session_peak(tort_session *session, const char *provider, tort_peak *peak, tort_error *error) {
    if (!session || !provider || !peak)
        return tort_fail(error, TORT_E_USAGE, "tort_session_peak needs a session, a provider and a place for the peak");
    *peak = (tort_peak){0};
    if (error) *error = (tort_error){.node = -1};
    for (int32_t i = 0; i < session->chain_count; i++) {
        const tort_link *link = &session->chain[i];
        if (strcmp(link->provider->name, provider) != 0) continue;
        if (!link->opened || !link->provider->peak) return TORT_OK;
        const int32_t before = tort_link_enter(link);
        link->provider->peak(link->device, &session->env, peak);
        tort_link_leave(link, before);
        return TORT_OK;
    }
    return tort_fail(error, TORT_E_USAGE, "the chain has no provider '%s'", provider);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

void tort_profile_begin_calls(tort_context *context) {
    for (int32_t m = 1; m < context->session->memory_count; m++)
        tort_link_calls(context->session->memories[m].owner, context->streams[m], &context->calls[m]);
}

void tort_profile_end_calls(tort_context *context) {
    for (int32_t m = 1; m < context->session->memory_count; m++) {
        const tort_device_calls before = context->calls[m];
        tort_device_calls *calls = &context->calls[m];
        tort_link_calls(context->session->memories[m].owner, context->streams[m], calls);
        calls->launches -= before.launches;
        calls->copies -= before.copies;
        calls->waits -= before.waits;
        calls->allocations -= before.allocations;
    }
}

tort_status tort_context_calls(const tort_context *context, const char *provider, tort_device_calls *calls,
                               tort_error *error) {
    if (!context || !calls)
        return tort_fail(error, TORT_E_USAGE, "tort_context_calls needs a context and a place for the calls");
    const tort_session *session = context->session;
    const tort_link *link = provider ? tort_link_named(session, provider) : NULL;
    *calls = (tort_device_calls){0};
    if (error) *error = (tort_error){.node = -1};
    if (provider && !link) return tort_fail(error, TORT_E_USAGE, "the chain has no provider '%s'", provider);
    for (int32_t m = 1; m < session->memory_count; m++) {
        if (link && link->memory != m) continue;
        calls->launches += context->calls[m].launches;
        calls->copies += context->calls[m].copies;
        calls->waits += context->calls[m].waits;
        calls->allocations += context->calls[m].allocations;
    }
    return TORT_OK;
}
