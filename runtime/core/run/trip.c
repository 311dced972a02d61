/* trip.c - allocates the state that a body's frame keeps beside its plan: inputs and outputs of trips, and memory for
 * them. Read next: call.c, which fills it. */
#include "runtime/core/run/context.h"

bool tort_trip_open(tort_frame *frame) {
    tort_arena *arena = &frame->context->arena;
    const size_t inputs = (size_t)frame->lowered->graph.input_count + 1;
    const size_t outputs = (size_t)frame->lowered->graph.output_count + 1;
    tort_trip *trip = tort_arena_array(arena, 1, sizeof *trip);
    if (!trip) return false;
    trip->inputs = tort_arena_array(arena, inputs, sizeof *trip->inputs);
    trip->outputs = tort_arena_array(arena, outputs, sizeof *trip->outputs);
    trip->parts = tort_arena_array(arena, outputs, sizeof *trip->parts);
    trip->input_values = tort_arena_array(arena, inputs, sizeof *trip->input_values);
    trip->held = tort_arena_array(arena, outputs, sizeof *trip->held);
    trip->carried = tort_arena_array(arena, 2 * outputs, sizeof *trip->carried);
    trip->stacked = tort_arena_array(arena, outputs, sizeof *trip->stacked);
    trip->scanned = tort_arena_array(arena, inputs, sizeof *trip->scanned);
    if (!trip->inputs || !trip->outputs || !trip->parts || !trip->input_values || !trip->held || !trip->carried ||
        !trip->stacked || !trip->scanned)
        return false;
    frame->trip = trip; /* complete, or NULL: tort_trip_close reads all of it */
    return true;
}

void tort_trip_release(tort_frame *body) {
    for (int32_t i = 0; i < body->lowered->graph.output_count; i++) {
        tort_value_release(body->trip->held[i]);
        body->trip->held[i] = NULL;
    }
}

void tort_trip_close(tort_frame *frame) {
    const tort_trip *trip = frame->trip;
    const tort_graph *graph = &frame->lowered->graph;
    if (!trip) return;
    tort_trip_release(frame);
    for (int32_t i = 0; i < graph->output_count; i++) {
        const int32_t memory = frame->lowered->output_memory[i];
        tort_region_free(frame->context, memory, &trip->carried[2 * i]);
        tort_region_free(frame->context, memory, &trip->carried[2 * i + 1]);
        tort_region_free(frame->context, memory, &trip->stacked[i]);
    }
    for (int32_t i = 0; i < graph->input_count; i++) tort_region_free(frame->context, 0, &trip->scanned[i]);
}
