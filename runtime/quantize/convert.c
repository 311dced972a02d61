/* convert.c - the order of a conversion (convert.h): the model is folded and run, the nodes that must stay are found
 * (stays.c), and the rest is tried in the new type.
 *
 * If an output has less than the decibels that were asked for, groups of nodes are changed alone, halved where they
 * cost most, and the dearest nodes stay, too. As in quantize.c, memory ends all steps alike. */
#include "runtime/core/run/context.h"
#include "runtime/quantize/convert.h"

#include <math.h>
#include <string.h>

#include "ops/numeric.h"
#include "runtime/core/base/hash.h"
#include "runtime/quantize/convert_state.h"
#include "runtime/quantize/opset.h"

enum { MAX_JUDGING = 8, MAX_EVALUATIONS = 160 };
static const double LIMIT = 120, SMALL_SHARE = 1.0 / 40;
static const double MARGIN = 3; /* decibels beyond what was asked for: others round and sum in another order */

static tort_status tell(tort_converted *c, const char *phase, int32_t done, int32_t of) {
    if (!c->options->progress || c->options->progress(c->options->progress_ud, phase, done, of)) return TORT_OK;
    return tort_fail(c->error, TORT_E_CANCELLED, "conversion was cancelled while it did: %s", phase);
}

static tort_status open_trial(tort_converted *c, const TortOnnx__ModelProto *proto) {
    tort_session_options options = c->options->session;
    options.struct_size = sizeof options;
    options.unfolded = true;
    options.plan_only = false;
    return tort_trial_open(&c->trial, proto, &options, c->error);
}

/* ---- the float32 model ------------------------------------------------------------------------------------------- */

static void note(tort_converted *c, int32_t value, const tort_tensor *tensor) {
    tort_seen *s = &c->seen[value];
    float block[TORT_BLOCK];
    c->net.values[value].type = tensor->type;
    if (!tort_retype_is_from(&c->retype, value)) return;
    const int64_t count = tort_count(tensor);
    for (int64_t at = 0; at < count; at += TORT_BLOCK) {
        const int64_t n = tort_block_count(count, at);
        tort_load_floats(tensor->type, tensor->data, at, n, block);
        for (int64_t i = 0; i < n; i++) {
            const float size = fabsf(block[i]);
            if (!(size < INFINITY)) continue;
            s->max = s->any ? fmaxf(s->max, size) : size;
            s->min = s->any ? fminf(s->min, size) : size;
            s->any = true;
        }
    }
}

/* Extremes have no order. */
static tort_look look(void *ud, const char *name) {
    const tort_converted *c = ud;
    return tort_net_find(&c->net, name) < 0 ? TORT_LOOK_AWAY : TORT_LOOK_ANY_ORDER;
}

static void watch(void *ud, int32_t node, const char *name, const tort_tensor *tensor) {
    tort_converted *c = ud;
    const int32_t value = tort_net_find(&c->net, name);
    (void)node;
    if (value >= 0) note(c, value, tensor);
}

static tort_status run_all(tort_converted *c) {
    const int32_t count = c->judge.samples->count;
    tort_wanted *wanted = tort_make(&c->maker, (size_t)count, sizeof *wanted);
    tort_tensor *outputs = tort_make(&c->maker, (size_t)c->judge.output_count, sizeof *outputs);
    c->judge.wanted = wanted;
    tort_context_observe(c->trial.context, watch, c);
    tort_context_observe_some(c->trial.context, look);
    for (int32_t i = 0; i < count; i++) {
        tort_status status = tell(c, "values", i, count);
        if (!status) status = tort_trial_run(&c->judge, &c->trial, i, outputs, c->error);
        if (status) return status;
        for (int32_t k = 0; k < c->judge.input_count; k++)
            note(c, tort_net_find(&c->net, c->net.proto->graph->input[k]->name), &c->judge.inputs[k]);
        wanted[i].outputs = tort_make(&c->maker, (size_t)c->judge.output_count, sizeof *wanted->outputs);
        for (int32_t k = 0; k < c->judge.output_count; k++)
            tort_make_copy(&c->maker, &outputs[k], &wanted[i].outputs[k]);
    }
    return TORT_OK;
}

/* ---- trials ------------------------------------------------------------------------------------------------------ */

/* Decibels of the worst output on `samples` samples; -120 if it is not finite where it was. */
static tort_status try_changed(tort_converted *c, int32_t samples, double *db) {
    tort_status status = open_trial(c, tort_retype_write(&c->retype, c->changed, false, &c->scratch));
    tort_judgement judgement = {0};
    if (!status) status = tort_trial_judge(&c->judge, &c->trial, NULL, samples, &judgement, &c->scratch, c->error);
    *db = judgement.worst;
    tort_trial_close(&c->trial);
    tort_make_empty(&c->scratch);
    c->report.evaluations++;
    return status;
}

/* Samples that a search runs. */
static int32_t judging(const tort_converted *c) {
    return c->judge.samples->count < MAX_JUDGING ? c->judge.samples->count : MAX_JUDGING;
}

/* Measures the cost of these nodes of the list: the error at the outputs if they alone change. */
static tort_status look_into(tort_converted *c, int32_t first, int32_t count, double small) {
    double db;
    memset(c->changed, 0, (size_t)c->net.node_count * sizeof *c->changed);
    for (int32_t i = 0; i < count; i++) c->changed[c->list[first + i]] = true;
    tort_status status = tell(c, "what nodes cost", first, c->count);
    if (!status) status = try_changed(c, judging(c), &db);
    if (status) return status;
    const double cost = pow(10, -db / 10);
    for (int32_t i = 0; i < count; i++) c->costs[c->list[first + i]] = cost / count;
    if (count == 1 || cost < small || c->report.evaluations > MAX_EVALUATIONS) return TORT_OK;
    status = look_into(c, first, count / 2, small);
    return status ? status : look_into(c, first + count / 2, count - count / 2, small);
}

/* All nodes that change by the rules, but for the dearest `kept`. */
static void change_all_but(tort_converted *c, int32_t kept) {
    for (int32_t i = 0; i < c->net.node_count; i++) c->changed[i] = c->retype.able[i] && !c->why[i];
    for (int32_t i = 0; i < kept; i++) c->changed[c->order[i]] = false;
    tort_convert_grow(c);
}

static void sort_nodes(tort_converted *c) {
    for (int32_t i = 0; i < c->count; i++) {
        int32_t k = i;
        for (; k > 0 && c->costs[c->order[k - 1]] < c->costs[c->list[i]]; k--) c->order[k] = c->order[k - 1];
        c->order[k] = c->list[i];
    }
}

static bool changes_any(const tort_converted *c) {
    bool any = false;
    for (int32_t i = 0; i < c->net.node_count; i++) any = any || c->changed[i];
    return any;
}

static tort_status try_kept(tort_converted *c, int32_t kept, double *db) {
    const tort_status status = tell(c, "nodes that stay float32", kept, c->count);
    change_all_but(c, kept);
    return status ? status : try_changed(c, judging(c), db);
}

/* Keeps 1, 2, 3, 5, 8, 12 ... of the dearest nodes until all outputs have the decibels, and then as few of these as do;
 * else the best of all tries. */
static tort_status keep_dearest(tort_converted *c) {
    tort_converted_report *r = &c->report;
    const double wanted = c->options->min_db + MARGIN;
    int32_t best = 0, failed = 0;
    tort_status status = look_into(c, 0, c->count, SMALL_SHARE * pow(10, -r->db_rules / 10));
    if (!status) sort_nodes(c);
    for (int32_t kept = 1; !status && kept < c->count;) {
        double db = -LIMIT;
        status = try_kept(c, kept, &db);
        if (db < wanted) failed = kept;
        if (db > r->db || db >= wanted) r->db = db, best = kept;
        if (r->db < wanted)
            kept += kept < 3 ? 1 : (kept + 1) / 2;
        else if (best - failed > 1)
            kept = failed + (best - failed) / 2;
        else
            break;
    }
    if (status) return status;
    change_all_but(c, best);
    if (!changes_any(c))
        return tort_fail(c->error, TORT_E_UNSUPPORTED,
                         "no node can be of %s where every output must have %.4g dB: ask for fewer (--min-db)",
                         tort_type_name(c->retype.to), c->options->min_db);
    for (int32_t i = 0; i < best; i++) tort_convert_keep(c, c->order[i], "sensitive");
    return best && judging(c) < c->judge.samples->count ? try_changed(c, c->judge.samples->count, &r->db) : TORT_OK;
}

/* No node can change: says why. */
static tort_status nothing_to_do(const tort_converted *c) {
    const tort_type to = c->retype.to;
    for (int32_t i = 0; i < c->net.node_count; i++)
        if (c->why[i])
            return tort_fail(c->error, TORT_E_UNSUPPORTED, "no node can be of %s: '%s' stays, for the reason that %s",
                             tort_convert_type_name(to), c->net.nodes[i].name, c->why[i]);
    for (int32_t v = 0; v < c->net.value_count; v++)
        if (c->net.values[v].type == to)
            return tort_fail(c->error, TORT_E_USAGE, "the model is of %s already: there is nothing to convert",
                             tort_convert_type_name(to));
    return tort_fail(c->error, TORT_E_USAGE, "the model computes with no %s: there is nothing to convert%s",
                     to == TORT_FLOAT ? "float16 or bfloat16" : "float32",
                     to == TORT_FLOAT ? "" : "; 16-bit floats become others by way of --to float32");
}

static tort_status choose(tort_converted *c) {
    const size_t nodes = (size_t)c->net.node_count;
    c->changed = tort_make(&c->maker, nodes, sizeof *c->changed);
    c->costs = tort_make(&c->maker, nodes, sizeof *c->costs);
    c->list = tort_make(&c->maker, nodes, sizeof *c->list);
    c->order = tort_make(&c->maker, nodes, sizeof *c->order);
    for (int32_t i = 0; i < c->net.node_count; i++)
        if (c->retype.able[i] && !c->why[i] && !tort_convert_is_move(c->net.nodes[i].op)) c->list[c->count++] = i;
    change_all_but(c, 0);
    if (!changes_any(c)) return nothing_to_do(c);
    tort_status status = tell(c, "the converted model", 0, 1);
    if (!status) status = try_changed(c, c->judge.samples->count, &c->report.db_rules);
    c->report.db = c->report.db_rules;
    if (!status && c->options->min_db > 0 && c->report.db < c->options->min_db + MARGIN && c->retype.to != TORT_FLOAT &&
        c->count > 1)
        status = keep_dearest(c);
    c->report.finite = c->report.db > -LIMIT;
    c->report.met = c->report.finite && c->report.db >= c->options->min_db;
    return status;
}

/* ---- the order of the work --------------------------------------------------------------------------------------- */

static tort_status check_model(const tort_converted *c) {
    for (int32_t g = 0; g < c->model->graph_count; g++)
        for (int32_t i = 0; i < c->model->graphs[g].node_count; i++) {
            const tort_node *node = &c->model->graphs[g].nodes[i];
            if (strstr(node->op_type, "QuantizeLinear") || strstr(node->op_type, "DequantizeLinear") ||
                strstr(node->op_type, "Integer") || !strncmp(node->op_type, "QLinear", 7))
                return tort_fail(
                    c->error, TORT_E_USAGE,
                    "the model is quantized: node '%s' is a %s. Give the float32 model that it was made of", node->name,
                    node->op_type);
        }
    return TORT_OK;
}

static tort_status open_model(tort_converted *c) {
    tort_session_options options = c->options->session;
    const tort_type to = c->options->to;
    options.struct_size = sizeof options;
    tort_status status = check_model(c);
    if (!status) status = tort_optimized_make(c->model, &options, &c->base, c->error);
    if (status) return status;
    TortOnnx__ModelProto *proto = tort_optimized_message(c->base);
    const bool old = c->options->to == TORT_BFLOAT16 && tort_opset_of(proto) < TORT_QUANTIZE_OPSET; /* came with 13 */
    if (old) status = tort_opset_raise(proto, &c->maker, c->error);
    if (status) return status;
    tort_net_open(&c->net, proto, &c->maker);
    if (old) status = tort_trial_types(&c->net, c->error);
    if (status) return status;
    c->seen = tort_make(&c->maker, (size_t)c->net.value_count, sizeof *c->seen);
    c->need = tort_make(&c->maker, (size_t)c->net.value_count, sizeof *c->need);
    c->wanted = tort_make(&c->maker, (size_t)c->net.value_count, sizeof *c->wanted);
    c->way = tort_make(&c->maker, (size_t)c->net.value_count, sizeof *c->way);
    c->why = tort_make(&c->maker, (size_t)c->net.node_count, sizeof *c->why);
    c->retype.net = &c->net;
    c->retype.from = to == TORT_FLOAT ? 1u << TORT_FLOAT16 | 1u << TORT_BFLOAT16 : 1u << TORT_FLOAT;
    c->report.before = protobuf_c_message_get_packed_size(&c->net.proto->base);
    status = open_trial(c, c->net.proto);
    if (!status) status = run_all(c);
    tort_trial_close(&c->trial);
    if (!status) tort_retype_open(&c->retype, &c->net, c->model, to, c->retype.from, &c->maker);
    return status;
}

/* Writes the message, and tells of it. */
static void finish(tort_converted *c) {
    tort_converted_report *r = &c->report;
    r->kept = tort_make(&c->maker, (size_t)c->net.node_count, sizeof *r->kept);
    for (int32_t i = 0; i < c->net.node_count; i++) {
        const tort_net_node *node = &c->net.nodes[i];
        r->changed += c->changed[i];
        if (c->changed[i] || (!c->retype.able[i] && !c->why[i])) continue;
        const char *why = c->why[i] ? c->why[i] : "saves Casts";
        r->kept[r->kept_count++] = (tort_quantized_node){node->name, node->proto->op_type, why};
    }
    c->proto = tort_retype_write(&c->retype, c->changed, c->options->ports, &c->maker);
    r->casts = tort_retype_casts(&c->retype, c->changed, c->options->ports, c->need);
    for (int32_t v = 0; v < c->net.value_count; v++)
        if ((c->net.values[v].is_input || c->net.values[v].is_output) && c->need[v] & TORT_RETYPE_CAST) r->port_casts++;
    r->casts -= r->port_casts;
    r->bytes = protobuf_c_message_get_packed_size(&c->proto->base);
}

static tort_status work(tort_converted *c) {
    if (setjmp(c->out_of_memory)) return tort_out_of_memory(c->error, 0);
    c->judge.input_count = tort_model_input_count(c->model);
    c->judge.output_count = tort_model_output_count(c->model);
    c->judge.inputs = tort_make(&c->maker, (size_t)c->judge.input_count, sizeof *c->judge.inputs);
    c->report.samples = c->judge.samples->count;
    tort_status status = open_model(c);
    if (!status) status = tort_convert_keep_asked(c);
    if (status) return status;
    tort_convert_keep_unsafe(c);
    status = choose(c);
    if (!status) finish(c);
    return status;
}

tort_status tort_convert(const tort_model *model, const tort_samples *samples, const tort_convert_options *options,
                         tort_converted **converted, tort_error *error) {
    const tort_env env = tort_env_complete(NULL);
    *converted = NULL;
    if (samples->count < 1) return tort_fail(error, TORT_E_USAGE, "there is no sample to run the model on");
    tort_converted *c = *converted = tort_alloc_zero(&env, 1, sizeof *c);
    if (!c) return tort_out_of_memory(error, sizeof *c);
    c->env = env;
    tort_env_choose_key(&c->env);
    c->model = model;
    c->options = options;
    c->error = error;
    c->judge.samples = samples;
    c->maker.out_of_memory = c->scratch.out_of_memory = &c->out_of_memory;
    tort_arena_init(&c->maker.arena, &c->env);
    tort_arena_init(&c->scratch.arena, &c->env);
    tort_names_init(&c->net.numbers, &c->env);
    const tort_status status = work(c);
    tort_trial_close(&c->trial);
    return status;
}

const tort_converted_report *tort_converted_report_of(const tort_converted *converted) {
    return &converted->report;
}

bool tort_converted_write(const tort_converted *converted, FILE *file) {
    return tort_pb_write_message(file, &converted->proto->base);
}

void tort_converted_free(tort_converted *c) {
    if (!c) return;
    const tort_env env = c->env;
    tort_names_free(&c->net.numbers);
    tort_arena_free(&c->scratch.arena);
    tort_arena_free(&c->maker.arena);
    tort_optimized_free(c->base);
    tort_free(&env, c, sizeof *c);
}
