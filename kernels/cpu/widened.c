/* widened.c - runs nodes of float16 and bfloat16 by the rows for float: inputs are widened, the row runs, and its
 * outputs are rounded. That is how these types are defined here: computed in float, rounded once at the end.
 *
 * A row that refuses with NO_TYPE is asked again with floats in place of halves, so no kernel is written twice; one
 * that reads halves itself (tort_kernel.halves) is handed those as they are. Constants are widened when they are
 * prepared; a row that runs element by element runs tile by tile, so that floats stay in the L1 cache. At least one
 * input must be a half: results from larger types would be rounded twice. Read next: widened.h, halves.h. */
#include "kernels/cpu/widened.h"
#include "runtime/core/base/memory.h"

#include <string.h>

/* ---- the node as the row sees it --------------------------------------------------------------------------------- */

typedef struct float_view {
    tort_node_view node;
    tort_info inputs[TORT_WIDENED_INPUTS], outputs[TORT_WIDENED_OUTPUTS];
} float_view;

/* `left`: infos that stay as they are. */
static void see_floats(const tort_info *infos, int32_t count, uint32_t left, tort_info *seen) {
    for (int32_t i = 0; i < count; i++) {
        seen[i] = infos[i];
        if (!tort_is_half(infos[i].type) || left >> i & 1) continue;
        seen[i].type = TORT_FLOAT;
        seen[i].data = NULL; /* its contents are halves, not floats */
    }
}

static void see_node(const tort_node_view *node, uint32_t left, float_view *view) {
    view->node = *node;
    view->node.kernel = node->kernel->of;
    view->node.inputs = view->inputs;
    view->node.outputs = view->outputs;
    see_floats(node->inputs, node->input_count, left, view->inputs);
    see_floats(node->outputs, node->output_count, left ? 1 : 0, view->outputs);
}

static void open_view(const tort_node_view *node, float_view *view) {
    see_node(node, node->kernel->of->halves, view);
}

static bool takes_halves(const tort_node_view *node) {
    bool halves = false;
    for (int32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i].kind != TORT_TENSOR) return false;
        halves = halves || tort_is_half(node->inputs[i].type);
    }
    for (int32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i].kind != TORT_TENSOR) return false;
    return halves;
}

static tort_verdict claim_widened(const tort_target *target, const tort_node_view *node) {
    const tort_kernel *row = node->kernel->of;
    float_view view;
    if (!takes_halves(node)) return tort_no(TORT_NO_TYPE, "", "takes neither float16 nor bfloat16");
    if (node->input_count > TORT_WIDENED_INPUTS || node->output_count > TORT_WIDENED_OUTPUTS)
        return tort_no(TORT_NO_SHAPE, "", "is for at most %d inputs and %d outputs of float16 or bfloat16",
                       TORT_WIDENED_INPUTS, TORT_WIDENED_OUTPUTS);
    const tort_verdict verdict = tort_cpu_claim_processor(target);
    if (verdict.code != TORT_YES || !row->claim) return verdict;
    see_node(node, 0, &view);
    return row->claim(target, &view.node);
}

/* ---- sizes and weights ------------------------------------------------------------------------------------------- */

static tort_status pack_of_row(const tort_target *target, const float_view *view, size_t *bytes, uint32_t *consumed,
                               tort_error *error) {
    const tort_kernel *row = view->node.kernel;
    *bytes = 0;
    *consumed = 0;
    return row->pack.size ? row->pack.size(target, &view->node, bytes, consumed, error) : TORT_OK;
}

/* Returns the half constants that the row reads itself, not in its packed form. */
static uint32_t constants_of(const tort_node_view *node, uint32_t consumed) {
    uint32_t constants = 0;
    for (int32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i].constant && tort_is_half(node->inputs[i].type)) constants |= 1u << i;
    return constants & ~consumed;
}

typedef struct known_tensors {
    tort_tensor inputs[TORT_WIDENED_INPUTS], outputs[TORT_WIDENED_OUTPUTS];
} known_tensors;

/* Makes tensors of infos; one of unknown shape counts as absent. */
static void list_tensors(const tort_info *infos, int32_t count, tort_tensor *tensors) {
    for (int32_t i = 0; i < count; i++)
        if (infos[i].type == TORT_UNDEFINED || !tort_info_tensor(&infos[i], &tensors[i]))
            tensors[i] = (tort_tensor){.type = TORT_UNDEFINED};
}

static tort_status arrange_node(const tort_target *target, const tort_node_view *node, const float_view *view,
                                tort_widened *w, tort_error *error) {
    known_tensors known;
    *w = (tort_widened){.row = node->kernel->of, .input_count = node->input_count, .output_count = node->output_count};
    list_tensors(node->inputs, node->input_count, known.inputs);
    list_tensors(node->outputs, node->output_count, known.outputs);
    tort_status status = pack_of_row(target, view, &w->row_bytes, &w->consumed, error);
    if (status) return status;
    w->constants = constants_of(node, w->consumed) & ~w->row->halves;
    return tort_widened_arrange(w, known.inputs, known.outputs) ? TORT_OK : tort_out_of_memory(error, SIZE_MAX);
}

static tort_status size_widened(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                tort_error *error) {
    const tort_kernel *row = node->kernel->of;
    float_view view;
    tort_widened w;
    size_t own = 0, tiles;
    open_view(node, &view);
    tort_status status = arrange_node(target, node, &view, &w, error);
    if (!status && row->size) status = row->size(target, &view.node, &own, error);
    if (status) return status;
    *scratch = w.scratch_bytes;
    if (tort_mul_size(w.tile_bytes, (uint64_t)target->threads, &tiles) && tort_cpu_reserve(scratch, tiles) &&
        tort_cpu_reserve(scratch, own))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

static tort_status pack_size_widened(const tort_target *target, const tort_node_view *node, size_t *bytes,
                                     uint32_t *consumed, tort_error *error) {
    float_view view;
    tort_widened w;
    open_view(node, &view);
    tort_status status = arrange_node(target, node, &view, &w, error);
    if (status || !(w.consumed | w.constants || w.row_bytes)) return status;
    *consumed = w.consumed | w.constants;
    if (tort_add_size(w.packed_bytes, w.row_bytes, bytes)) return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

/* Weights that the row packs: floats that live while it does. */
typedef struct float_weights {
    float *data[TORT_WIDENED_INPUTS];
    size_t bytes[TORT_WIDENED_INPUTS];
} float_weights;

static tort_status widen_constant(tort_prepare *prepare, const tort_widened *w, int32_t i, float_weights *weights,
                                  float **floats) {
    const tort_cpu_device *device = prepare->device;
    const tort_info *info = &prepare->node->inputs[i];
    const int64_t count = w->in[i].count;
    if (!info->data) return tort_fail(prepare->error, TORT_E_INTERNAL, "the constant input %d has no data", (int)i);
    if (w->constants >> i & 1) {
        *floats = (float *)(void *)((char *)prepare->packed + w->in[i].offset);
    } else {
        if (!tort_cpu_reserve_floats(&weights->bytes[i], count)) return tort_out_of_memory(prepare->error, SIZE_MAX);
        *floats = weights->data[i] = tort_alloc_aligned(prepare->env, weights->bytes[i]);
        if (!*floats) return tort_out_of_memory(prepare->error, weights->bytes[i]);
    }
    for (int64_t at = 0; at < count && tort_row_goes_on(prepare->watch, at); at += TORT_PART)
        tort_halves_widen(device->simd, info->type, (const uint16_t *)info->data + at, *floats + at,
                          tort_part_count(count, at));
    return TORT_OK;
}

static tort_status prepare_widened(tort_prepare *prepare) {
    const tort_node_view *node = prepare->node;
    const tort_kernel *row = node->kernel->of;
    float_weights weights = {0};
    float_view view;
    tort_widened w;
    if (!prepare->packed) return TORT_OK;
    open_view(node, &view);
    tort_status status = arrange_node(prepare->target, node, &view, &w, prepare->error);
    if (status) return status;
    for (int32_t i = 0; !status && i < node->input_count; i++) {
        float *floats = NULL;
        if (!((w.consumed | w.constants) >> i & 1) || !tort_is_half(node->inputs[i].type)) continue;
        status = widen_constant(prepare, &w, i, &weights, &floats);
        view.inputs[i].data = floats;
    }
    tort_prepare inner = *prepare;
    inner.node = &view.node;
    inner.packed = w.row_bytes ? (char *)prepare->packed + w.packed_bytes : NULL;
    if (!status && row->prepare) status = row->prepare(&inner);
    for (int32_t i = 0; i < node->input_count; i++) tort_free_aligned(prepare->env, weights.data[i], weights.bytes[i]);
    return status;
}

/* Arranges operands for a plan's shapes. `fitted` is not part of the packed bytes, which may come from a file and so
 * cannot be trusted with offsets. */
static tort_status fit_widened(tort_fit *fit) {
    float_view view;
    tort_widened *w = tort_alloc(fit->env, sizeof *w);
    if (!w) return tort_out_of_memory(fit->error, sizeof *w);
    open_view(fit->node, &view);
    fit->fitted = w;
    const tort_status status = arrange_node(fit->target, fit->node, &view, w, fit->error);
    if (!status) return TORT_OK;
    tort_free(fit->env, w, sizeof *w);
    fit->fitted = NULL;
    return status;
}

static void unfit_widened(void *device, const tort_env *env, void *fitted) {
    (void)device;
    tort_free(env, fitted, sizeof(tort_widened));
}

/* ---- all of it at once ------------------------------------------------------------------------------------------- */

/* A run, and the operands and call that the row gets in its place. */
typedef struct widened_run {
    const tort_call *call;
    const tort_widened *w;
    tort_tensor inputs[TORT_WIDENED_INPUTS], outputs[TORT_WIDENED_OUTPUTS];
    tort_call inner;
    char *tiles;
} widened_run;

/* Places the operands that are not tiled. */
static void place_operands(widened_run *run) {
    const tort_call *call = run->call;
    for (int32_t i = 0; i < call->input_count; i++) {
        const tort_widened_operand *operand = &run->w->in[i];
        run->inputs[i] = call->inputs[i];
        if (operand->place == TORT_WIDENED_AS_IT_IS) continue;
        const void *floats = operand->place == TORT_WIDENED_PACKED ? (const char *)call->packed + operand->offset
                                                                   : (const char *)call->scratch + operand->offset;
        run->inputs[i].type = TORT_FLOAT;
        memcpy(&run->inputs[i].data, &floats, sizeof floats);
    }
    for (int32_t i = 0; i < call->output_count; i++) {
        run->outputs[i] = call->outputs[i];
        if (run->w->out[i].place == TORT_WIDENED_AS_IT_IS) continue;
        run->outputs[i].type = TORT_FLOAT;
        run->outputs[i].data = (char *)call->scratch + run->w->out[i].offset;
    }
}

/* Widens all inputs, or rounds all outputs, that are in scratch as a whole. */
static void convert_whole(const widened_run *run, bool widen) {
    const tort_widened_operand *operands = widen ? run->w->in : run->w->out;
    const tort_tensor *halves = widen ? run->call->inputs : run->call->outputs;
    const tort_tensor *floats = widen ? run->inputs : run->outputs;
    const int32_t max = widen ? run->call->input_count : run->call->output_count;
    tort_halves list[TORT_WIDENED_INPUTS];
    int32_t count = 0;
    for (int32_t i = 0; i < max; i++)
        if (operands[i].place == TORT_WIDENED_IN_SCRATCH && !operands[i].tiled) {
            list[count] = (tort_halves){
                .type = halves[i].type, .halves = halves[i].data, .floats = floats[i].data, .count = operands[i].count};
            count++;
        }
    if (count) tort_halves_convert(run->call, widen, list, count);
}

/* ---- tile by tile ------------------------------------------------------------------------------------------------ */

static void in_this_thread(void *ud, int64_t count, int64_t grain, void (*body)(void *arg, int64_t begin, int64_t end),
                           void *arg) {
    (void)ud, (void)grain;
    if (count > 0) body(arg, 0, count);
}

/* Returns elements first .. first+count of an operand, as the row sees them. */
static tort_tensor tile_of(const tort_tensor *whole, const tort_widened_operand *operand, char *buffers, int64_t first,
                           int64_t count) {
    const size_t size = (size_t)tort_type_bits(whole->type) / 8;
    tort_tensor tile = {
        .type = whole->type, .rank = 1, .dims = {count}, .data = (char *)whole->data + (size_t)first * size};
    if (operand->place == TORT_WIDENED_IN_SCRATCH) tile.data = buffers + operand->offset;
    return tile;
}

static tort_status run_tile(const widened_run *run, const tort_call *inner, tort_tensor *inputs, tort_tensor *outputs,
                            char *buffers, int64_t first, int64_t count) {
    const tort_widened *w = run->w;
    const tort_simd *simd = ((const tort_cpu_device *)run->call->device)->simd;
    for (int32_t i = 0; i < inner->input_count; i++) {
        if (!w->in[i].tiled) continue;
        inputs[i] = tile_of(&run->inputs[i], &w->in[i], buffers, first, count);
        const tort_tensor *halves = &run->call->inputs[i];
        if (w->in[i].place == TORT_WIDENED_IN_SCRATCH)
            tort_halves_widen(simd, halves->type, (const uint16_t *)halves->data + first, inputs[i].data, count);
    }
    for (int32_t i = 0; i < inner->output_count; i++)
        if (tort_present(&run->outputs[i])) outputs[i] = tile_of(&run->outputs[i], &w->out[i], buffers, first, count);
    const tort_status status = w->row->run(inner);
    for (int32_t i = 0; i < inner->output_count; i++) {
        const tort_tensor *halves = &run->call->outputs[i];
        if (w->out[i].place == TORT_WIDENED_IN_SCRATCH)
            tort_halves_narrow(simd, halves->type, outputs[i].data, (uint16_t *)halves->data + first, count);
    }
    return status;
}

/* Runs the tiles of some parts. The status of a part is stored before its buffers. */
static void run_tiles(void *arg, int64_t begin, int64_t end) {
    const widened_run *run = arg;
    const int32_t parts = ((const tort_cpu_device *)run->call->device)->threads;
    const int64_t total = tort_count(&run->call->outputs[0]);
    tort_env env = *run->call->env;
    tort_tensor inputs[TORT_WIDENED_INPUTS], outputs[TORT_WIDENED_OUTPUTS];
    tort_call inner = run->inner;
    env.parallel_for = in_this_thread;
    inner.env = &env;
    inner.inputs = inputs;
    inner.outputs = outputs;
    inner.error = NULL; /* threads would share it */
    memcpy(inputs, run->inputs, sizeof inputs);
    memcpy(outputs, run->outputs, sizeof outputs);
    for (int64_t part = begin; part < end; part++) {
        char *buffers = run->tiles + (size_t)part * run->w->tile_bytes;
        tort_status status = TORT_OK;
        int64_t first, last;
        tort_cpu_share(total, TORT_WIDENED_TILE, part, parts, &first, &last);
        for (; first < last && !status && tort_call_goes_on(run->call, 0); first += TORT_WIDENED_TILE)
            status = run_tile(run, &inner, inputs, outputs, buffers, first,
                              last - first < TORT_WIDENED_TILE ? last - first : TORT_WIDENED_TILE);
        *(tort_status *)(void *)buffers = status;
    }
}

static tort_status run_by_element(widened_run *run) {
    const tort_call *call = run->call;
    const int32_t parts = ((const tort_cpu_device *)call->device)->threads;
    tort_parallel(call, parts, tort_count(&call->outputs[0]) / parts, run_tiles, run);
    if (!tort_call_goes_on(call, 0)) return TORT_OK; /* some parts may have no status */
    for (int32_t part = 0; part < parts; part++) {
        const tort_status *status = (const void *)(run->tiles + (size_t)part * run->w->tile_bytes);
        if (*status) return tort_fail(call->error, *status, "%s failed on some of its elements", call->kernel->name);
    }
    return TORT_OK;
}

/* ---- a run ------------------------------------------------------------------------------------------------------- */

static tort_status run_widened(const tort_call *call) {
    const tort_widened *w = call->fitted;
    const int32_t threads = ((const tort_cpu_device *)call->device)->threads;
    widened_run run = {.call = call, .w = w, .inner = *call};
    char *scratch = (char *)call->scratch + w->scratch_bytes;
    run.tiles = tort_cpu_take(&scratch, w->tile_bytes * (size_t)threads);
    run.inner.kernel = w->row;
    run.inner.inputs = run.inputs;
    run.inner.outputs = run.outputs;
    run.inner.scratch = scratch;
    run.inner.packed = w->row_bytes ? (const char *)call->packed + w->packed_bytes : NULL;
    run.inner.fitted = NULL;
    place_operands(&run);
    convert_whole(&run, true);
    if (!tort_call_goes_on(call, 0)) return TORT_OK;
    if (w->tiles) return run_by_element(&run);
    const tort_status status = w->row->run(&run.inner);
    if (!status) convert_whole(&run, false);
    return status;
}

const tort_kernel tort_cpu_widening = {.name = "widened",
                                       .claim = claim_widened,
                                       .size = size_widened,
                                       .pack.size = pack_size_widened,
                                       .prepare = prepare_widened,
                                       .run = run_widened,
                                       .fit = fit_widened,
                                       .unfit = unfit_widened};
