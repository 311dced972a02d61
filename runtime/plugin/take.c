/* take.c - which nodes of a graph the chain can run, and why not the others (plugin.h).
 *
 * The graph is planned as it is, without folding and fusion, so that every node has a verdict of its own; nothing is
 * run. Nodes that are taken are put into as few parts as possible: the stage of a node is how often a path to it
 * changes between nodes that are taken and those that are not. Nodes of one stage are fused into one: a path between
 * two of them that leaves the part would have raised the stage. Example: conv -> own_op -> conv -> relu has the stages
 * 0, 1, 2, 2, so two parts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/graph/graph.h"
#include "runtime/plugin/plugin.h"

typedef struct taker {
    plugin_ep *ep;
    const ort_node **nodes;
    int32_t count;
    bool *taken;        /* by node, in the host's order */
    bool *unread;       /* by node */
    int32_t *stage;     /* by node */
    plugin_text why;    /* nodes are declined, a line for each */
    plugin_text report; /* the same for the report */
    int32_t declined;   /* reasons so far */
} taker;

static bool is_tensor(const tort_info *info) {
    return info->kind == TORT_TENSOR && info->type != TORT_UNDEFINED;
}

/* ---- reasons ----------------------------------------------------------------------------------------------------- */

static void add_reason(taker *t, const tort_report_node *node, const char *code, const char *message,
                       const char *cure) {
    fprintf(t->why.out, "\n%.100s (%.60s): %s %.300s%s%.200s", node->path, node->op, code, message, *cure ? " -> " : "",
            cure);
    fprintf(t->report.out, "%s\n  {", t->ep->declined_count + t->declined++ ? "," : "");
    plugin_put(t->report.out, "path", node->path, "op", node->op, "domain", node->domain, "code", code, "message",
               message, "cure", cure, NULL);
    fputs("}", t->report.out);
}

static void decline(taker *t, int32_t place, const tort_report_node *node) {
    const tort_report_verdict *verdict = node->verdict_count ? node->verdicts[node->verdict_count - 1] : NULL;
    t->taken[place] = false;
    if (t->unread[place])
        add_reason(t, node, "NO_ATTR", "the plugin does not read what its attributes hold", "");
    else
        add_reason(t, node, verdict ? tort_verdict_name(verdict->code) : "", verdict ? verdict->message : "",
                   verdict ? verdict->cure : "");
}

/* Finds the node, and the graph that it is in, whose body a graph is. */
static void find_parent(const tort_model *model, int32_t body, int32_t *graph, int32_t *node) {
    for (*graph = 0; *graph < body; ++*graph) { /* a graph stands before its bodies */
        const tort_graph *in = &model->graphs[*graph];
        for (*node = 0; *node < in->node_count; ++*node)
            for (int32_t k = 0; k < in->nodes[*node].attribute_count; k++) {
                const tort_attribute *attribute = &in->nodes[*node].attributes[k];
                if (attribute->kind == TORT_ATTR_GRAPH && attribute->u.graphs[0] == body) return;
            }
    }
}

/* The place in the host's order of the node of the main graph that is this one, or has it in its bodies; number: of a
 * node, counted through all graphs. */
static int32_t owner_of(const tort_model *model, int32_t number) {
    int32_t graph = 0, node;
    while (number >= model->graphs[graph].first + model->graphs[graph].node_count) graph++;
    node = number - model->graphs[graph].first;
    while (graph > 0) find_parent(model, graph, &graph, &node);
    return model->graphs[0].nodes[node].file_index;
}

/* ---- planning ---------------------------------------------------------------------------------------------------- */

static tort_status judge(taker *t, const tort_model *model, tort_error *error) {
    const tort_session_options options = {
        .struct_size = sizeof options, .chain = t->ep->chain, .plan_only = true, .unfolded = true};
    tort_session *session = NULL;
    tort_report *report = NULL;
    tort_status status = tort_session_create(NULL, model, &options, &session, error);
    if (status == TORT_E_PLACEMENT && session) status = TORT_OK; /* its report says which nodes */
    if (!status) status = tort_session_report(session, &report, error);
    for (int32_t i = 0; !status && i < report->node_count; i++)
        if (!report->nodes[i]->provider) decline(t, owner_of(model, report->nodes[i]->index), report->nodes[i]);
    tort_report_free(report);
    tort_session_free(session);
    return status;
}

static void find_stages(const taker *t, const tort_model *model) {
    const tort_graph *graph = &model->graphs[0];
    for (int32_t i = 0; i < graph->node_count; i++) {
        const tort_node *node = &graph->nodes[i];
        const int32_t parity = !t->taken[node->file_index];
        int32_t stage = parity;
        for (int32_t k = 0; k < node->input_count; k++) {
            const int32_t producer = node->inputs[k] < 0 ? -1 : graph->values[node->inputs[k]].producer;
            const int32_t before = producer < 0 ? 0 : t->stage[graph->nodes[producer].file_index];
            const int32_t min = before + (before % 2 != parity);
            if (min > stage) stage = min;
        }
        t->stage[node->file_index] = stage;
    }
}

/* Declines a node with an operand that the border of a part does not carry. */
static bool decline_border(taker *t, const tort_node *node, const char *port, int32_t place) {
    char text[120];
    if (!t->taken[node->file_index]) return false;
    t->taken[node->file_index] = false;
    snprintf(text, sizeof text, "%s %d is no tensor, and would leave its part: the plugin carries tensors alone", port,
             (int)place);
    add_reason(t, &(tort_report_node){.path = node->name, .op = node->op_type, .domain = node->domain}, "NO_KIND", text,
               "");
    return true;
}

/* Declines nodes at both ends of a sequence or optional that would leave its part; true if there are any. */
static bool judge_borders(taker *t, const tort_graph *graph) {
    bool changed = false;
    for (int32_t i = 0; i < graph->node_count; i++) {
        const tort_node *node = &graph->nodes[i];
        for (int32_t k = 0; k < node->input_count; k++) {
            const tort_graph_value *value = node->inputs[k] < 0 ? NULL : &graph->values[node->inputs[k]];
            if (!value || is_tensor(&value->info)) continue;
            const tort_node *from = value->producer < 0 ? NULL : &graph->nodes[value->producer];
            if (from && t->taken[from->file_index] && t->taken[node->file_index] &&
                t->stage[from->file_index] == t->stage[node->file_index])
                continue;
            for (int32_t o = 0; from && o < from->output_count; o++)
                if (from->outputs[o] == node->inputs[k]) changed |= decline_border(t, from, "output", o);
            changed |= decline_border(t, node, "input", k);
        }
        for (int32_t k = 0; k < node->output_count; k++) {
            const tort_graph_value *value = node->outputs[k] < 0 ? NULL : &graph->values[node->outputs[k]];
            if (value && value->is_output && !is_tensor(&value->info)) changed |= decline_border(t, node, "output", k);
        }
    }
    return changed;
}

/* ---- telling ----------------------------------------------------------------------------------------------------- */

/* Gives the host the nodes of each stage. */
static ort_status *give(const taker *t, ort_support *support) {
    const ort_fusion fusion = {ORT_VERSION, true};
    const ort_node **nodes = calloc((size_t)t->count + 1, sizeof *nodes);
    ort_status *status = NULL;
    int32_t left = 0;
    for (int32_t i = 0; i < t->count; i++) left += t->taken[i];
    for (int32_t stage = 0; nodes && !status && left; stage += 2) {
        size_t count = 0;
        for (int32_t i = 0; i < t->count; i++)
            if (t->taken[i] && t->stage[i] == stage) nodes[count++] = t->nodes[i];
        if (count) status = t->ep->host->ep->add_nodes(support, nodes, count, &fusion);
        left -= (int32_t)count;
    }
    free((void *)nodes);
    return status;
}

/* Takes a node that compiling refuses. */
static ort_status *refuse(const taker *t, ort_support *support) {
    return t->count ? t->ep->host->ep->add_nodes(support, t->nodes, 1, &(ort_fusion){ORT_VERSION, true}) : NULL;
}

/* Tells the host's log and the report which nodes are declined, and refuses the session if the option strict says so.
 */
static void tell(taker *t, int32_t declined) {
    plugin_ep *ep = t->ep;
    plugin_text all = {0};
    fflush(t->why.out);
    fflush(t->report.out);
    fputs(t->report.text, ep->declined.out);
    ep->declined_count += t->declined;
    ep->taken_count += t->count - declined;
    if (!declined || !plugin_text_open(&all)) return;
    fprintf(all.out, "tinyort: %s%d of %d nodes stay with onnxruntime:%s", ep->strict ? "strict: " : "", declined,
            t->count, t->why.text);
    fflush(all.out);
    if (ep->strict)
        ep->refusal = strdup(all.text);
    else
        plugin_log(ep, ORT_LOG_WARNING, all.text);
    plugin_text_free(&all);
}

static ort_status *finish(taker *t, ort_support *support) {
    int32_t declined = 0;
    for (int32_t i = 0; i < t->count; i++) declined += !t->taken[i];
    if (!t->ep->refusal) tell(t, declined);
    plugin_report_write(t->ep);
    return t->ep->refusal ? refuse(t, support) : give(t, support);
}

static void free_taker(taker *t) {
    free((void *)t->nodes);
    free(t->taken);
    free(t->stage);
    free(t->unread);
    plugin_text_free(&t->why);
    plugin_text_free(&t->report);
}

/* Decides on every node of a graph, or on one alone. An error is the reason why all of it stays with the host. */
static bool decide(taker *t, const ort_graph *graph, const ort_node *only) {
    tort_error error = {.node = -1};
    tort_model *model = NULL;
    tort_status status = plugin_nodes(t->ep->host, graph, &t->nodes, &t->count, &error);
    t->taken = calloc((size_t)t->count + 1, sizeof *t->taken);
    t->unread = calloc((size_t)t->count + 1, sizeof *t->unread);
    t->stage = calloc((size_t)t->count + 1, sizeof *t->stage);
    const bool open = plugin_text_open(&t->why) && plugin_text_open(&t->report);
    if (!t->taken || !t->stage || !t->unread || !open) return false;
    if (only) t->count = 1;
    if (t->ep->refusal) return true;
    if (!status && t->count) status = plugin_read(t->ep->host, graph, only, NULL, NULL, t->unread, &model, &error);
    for (int32_t i = 0; !status && i < t->count; i++) t->taken[i] = true;
    if (!status && model) status = judge(t, model, &error);
    if (!status && model) find_stages(t, model);
    /* A node alone may hand sequences to others that its part will have, too. */
    while (!status && model && !only && judge_borders(t, &model->graphs[0])) find_stages(t, model);
    for (int32_t i = 0; status && i < t->count; i++) t->taken[i] = false;
    if (status) fprintf(t->why.out, "\n%s", error.msg);
    if (status == TORT_E_USAGE) t->ep->refusal = strdup(error.msg); /* the chain */
    tort_model_free(model);
    return true;
}

/* True if the graph is a body of a node that will be taken whole. The host asks for bodies first, and does not tell of
 * the graph around the outermost node, so that this is asked of the node alone. */
static bool goes_with_its_node(plugin_ep *ep, const ort_graph *graph) {
    const ort_api *api = ep->host->api;
    const ort_node *node = NULL, *parent = NULL;
    const ort_graph *around = graph;
    taker t = {.ep = ep};
    ort_status *status = api->parent_node(graph, &parent);
    while (!status && parent) {
        node = parent;
        parent = NULL;
        status = api->graph_of(node, &around);
        if (!status && around) status = api->parent_node(around, &parent);
    }
    const bool taken = !status && node && decide(&t, graph, node) && t.count && t.taken[0];
    if (status) api->release_status(status);
    free_taker(&t);
    return taken;
}

ort_status *plugin_capability(ort_ep *base, const ort_graph *graph, ort_support *support) {
    taker t = {.ep = (plugin_ep *)base};
    if (!t.ep->chain && !t.ep->refusal) {
        if (!t.ep->told)
            plugin_log(t.ep, ORT_LOG_WARNING,
                       "tinyort takes no node, as nobody asked for it by name: a policy that selects providers "
                       "does not. Give it an option: {\"chain\": \"cpu\"}");
        t.ep->told = true;
        return NULL;
    }
    if (goes_with_its_node(t.ep, graph)) return NULL;
    ort_status *status = decide(&t, graph, NULL)
                             ? finish(&t, support)
                             : t.ep->host->api->create_status(ORT_FAIL, "tinyort: no memory to judge a graph");
    free_taker(&t);
    return status;
}
