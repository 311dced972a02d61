/* choose.c - asks the plugin which nodes it would fuse (host.h, tort_engine.choose). */
#include "kernels/plugin/host.h"

/* Nodes that GetCapability names, in groups. */
struct ort_support {
    tort_host *host;
    const ort_graph *graph;
    int32_t *groups; /* by node; -1: none */
    int32_t count;
    bool has_kernels; /* the plugin would run some nodes alone */
};

/* The number of a node that the plugin gives back; -1: it is none of the graph's. */
static int32_t number_of(const ort_graph *graph, const ort_node *node) {
    for (int32_t i = 0; i < graph->view->node_count; i++)
        if (&graph->nodes[i] == node) return i;
    return -1;
}

/* Takes all nodes or none. */
ort_status *tort_host_add_nodes(ort_support *support, const ort_node *const *nodes, size_t count,
                                const ort_fusion *fusion) {
    if (!support || !nodes || !count) return tort_host_create_status(ORT_INVALID_ARGUMENT, "no nodes are given");
    const bool drops = fusion && fusion->drop_constants;
    tort_host *host = support->host;
    if (host->drops_known && host->drops != drops)
        return tort_host_create_status(ORT_NOT_IMPLEMENTED, "some fused nodes are with constants, and some are not");
    for (size_t i = 0; i < count; i++) {
        const int32_t number = number_of(support->graph, nodes[i]);
        const char *cause = number < 0                     ? "is not of this graph"
                            : support->groups[number] >= 0 ? "is fused twice"
                                                           : NULL;
        if (!cause) support->groups[number] = support->count;
        if (!cause) continue;
        for (int32_t k = 0; k < support->graph->view->node_count; k++)
            if (support->groups[k] == support->count) support->groups[k] = -1;
        TORT_HOST_FAIL(ORT_INVALID_ARGUMENT, "node %zu of a group %s", i, cause);
    }
    host->drops = drops;
    host->drops_known = true;
    support->count++;
    return NULL;
}

ort_status *tort_host_add_node(ort_support *support, const ort_node *node) {
    const int32_t number = support ? number_of(support->graph, node) : -1;
    if (number < 0) return tort_host_create_status(ORT_INVALID_ARGUMENT, "the node is not of this graph");
    support->has_kernels = true;
    return NULL;
}

ort_status *tort_host_ask(tort_host *host, const ort_graph *graph, int32_t *groups, bool *has_kernels) {
    ort_support support = {.host = host, .graph = graph, .groups = groups};
    for (int32_t i = 0; i < graph->view->node_count; i++) groups[i] = -1;
    ort_status *status = host->ep->capability(host->ep, graph, &support);
    for (int32_t i = 0; status && i < graph->view->node_count; i++) groups[i] = -1;
    *has_kernels = support.has_kernels;
    return status;
}

tort_status tort_host_choose(tort_choice *choice) {
    tort_host *host = choice->device;
    ort_graph graph;
    char words[400];
    bool has_kernels = false;
    tort_status status = tort_host_read_graph(host, choice->env, choice->node, &graph, choice->error);
    ort_status *said = status ? NULL : tort_host_ask(host, &graph, choice->groups, &has_kernels);
    const bool failed = said != NULL;
    tort_host_words(host, said, words, sizeof words);
    tort_host_free_graph(&graph);
    if (failed)
        *choice->declined = tort_no(TORT_NO_CAPABILITY, "", "%s: GetCapability: %.300s", host->name, words);
    else if (has_kernels)
        *choice->declined = tort_no(TORT_NO_OP, "",
                                    "%s does not compile it: kernels of its own for single nodes are "
                                    "not hosted",
                                    host->name);
    else
        *choice->declined =
            tort_no(TORT_NO_OP, "", "%s does not take it%s%.240s", host->name, *words ? ", log: " : "", words);
    return status;
}
