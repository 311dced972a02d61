/* plugin.h - tinyort as an execution provider of ONNX Runtime, in a shared object that an unchanged onnxruntime loads.
 *
 * A session of the host asks its provider three things: which nodes of a graph it takes (capability), to compile the
 * parts that these nodes were fused into, and to run them. Each part is a model of tinyort's own, read from the host's
 * graph by read.c, with a session. Reading order: ort.h (what both sides call), read.c, constants.c, tensor.c, part.c
 * (compile and run), take.c (which nodes, and why not the others), report.c, plugin.c (the factory and its options). */
#ifndef TORT_PLUGIN_PLUGIN_H
#define TORT_PLUGIN_PLUGIN_H

#include <stdio.h>

#include "runtime/core/base/error.h"
#include "runtime/core/plan/plan.h"
#include "runtime/include/tinyort_report.h"
#include "runtime/include/ort.h"

/* Tables of the host, from the registration of the library; they live in the factory. */
typedef struct plugin_host {
    const ort_api *api;
    const ort_ep_api *ep;
    const char *version; /* "1.31.1" */
} plugin_host;

/* Text that grows by what is written to `out`; whole after fflush. */
typedef struct plugin_text {
    FILE *out;
    char *text;
    size_t size;
} plugin_text;

/* The provider of one session of the host. */
typedef struct plugin_ep {
    ort_ep base;
    const plugin_host *host;
    const ort_logger *logger; /* of the session */
    char *chain;              /* owned; NULL: no option was given, so that nobody asked for tinyort by name */
    bool strict;              /* a node that is declined is an error */
    bool told;                /* that nobody asked */
    char *bounds;             /* option max, which has the names of `max`; owned; NULL */
    tort_symbol_size *max;    /* upper bounds of dimensions by name; owned */
    int32_t max_count;
    char *report; /* option report: the path of the file; owned; NULL: none is written */
    /* For the report, as members of JSON lists: declined nodes and compiled parts. */
    plugin_text declined, parts;
    int32_t declined_count, part_count, taken_count;
    /* Why there can be no session; NULL. The host answers an error of `create` by a session on its CPU, and one of
     * `capability` by taking no nodes, both without an exception: so a node is taken, and compiling it fails. Owned. */
    char *refusal;
} plugin_ep;

/* A status of the host: the code, and "tinyort: " before the message. */
ort_status *plugin_fail(const plugin_host *host, const tort_error *error);
/* Takes over a status of the host, NULL for success, as an error of tinyort. */
tort_status plugin_check(const plugin_host *host, ort_status *status, tort_error *error);

/* Writes into the log of the session. */
void plugin_log(const plugin_ep *ep, int level, const char *text);

/* ---- read.c */

/* Values of the host in a list; the caller frees items. */
typedef struct plugin_values {
    const ort_value_info **items;
    int32_t count, captured; /* captured: the last so many are read by bodies of the node */
    int32_t room;            /* of a list that grows */
} plugin_values;

/* Makes a model of a graph, in the host's order of nodes. only: of this node of it, or around it; NULL: of all. Inputs:
 * NULL for every value that is read and made neither by a node nor constant; outputs: NULL for those of the graph, or
 * of the only node. unread: by node; set for one that cannot be read, which becomes an operator of PLUGIN_UNREAD; NULL:
 * it is an error. The caller frees the model. */
#define PLUGIN_UNREAD "tinyort.unread"
tort_status plugin_read(const plugin_host *host, const ort_graph *graph, const ort_node *only,
                        const plugin_values *inputs, const plugin_values *outputs, bool *unread, tort_model **model,
                        tort_error *error);
/* The inputs of a node with those that its bodies read, or its outputs. */
tort_status plugin_ports(const plugin_host *host, const ort_node *node, bool outputs, plugin_values *values,
                         tort_error *error);
/* The nodes of a graph; the caller frees them. */
tort_status plugin_nodes(const plugin_host *host, const ort_graph *graph, const ort_node ***nodes, int32_t *count,
                         tort_error *error);

/* ---- constants.c */

bool plugin_constants_open(tort_model *model); /* of a new model; false: out of memory */
/* Adds a tensor of the host to the model's weights, to be read where it is; -1: out of memory. */
int32_t plugin_constants_add(tort_model *model, const tort_tensor *tensor, size_t bytes);
/* Called when the model is compiled, as the host may free its constants from now on. Weights have been packed by then;
 * what a run may still read is copied: small constants, and all of a model with bodies, which are prepared when they
 * first run. */
tort_status plugin_let_go(tort_model *model, tort_error *error);

/* ---- tensor.c */

/* The type of elements that the host has this number for: ONNX's, but for those of 2 bits and the exponents, 24 to 26.
 */
tort_type plugin_type(int element);
/* The type and shape of a tensor of the host; dims are not filled in if there are more than TORT_MAX_RANK. */
ort_status *plugin_shape(const ort_api *api, const ort_value *value, tort_tensor *tensor);
/* Reads the strings of such a tensor, whose shape is known; tensor->data has them and their bytes in one block, which
 * the caller frees. */
ort_status *plugin_strings(const ort_api *api, const ort_value *value, tort_tensor *tensor);
/* An input of a run: numbers where they are; strings as by plugin_strings. */
ort_status *plugin_input(const ort_api *api, const ort_value *value, tort_tensor *tensor);
/* An output of a run that a node writes into the host's buffer: before the run; all others, which the context lends,
 * are copied after it. slot: of the plan. */
ort_status *plugin_place(const ort_api *api, ort_run *run, size_t index, const tort_slot *slot, tort_tensor *tensor);
ort_status *plugin_copy(const ort_api *api, ort_run *run, size_t index, const tort_slot *slot,
                        const tort_tensor *tensor);

/* ---- report.c */

bool plugin_text_open(plugin_text *text); /* false: out of memory; plugin_text_free in any case */
void plugin_text_free(plugin_text *text);
/* Writes keys and texts, NULL at the end, as members of a JSON object, each with a comma after it; a text of NULL is
 * null. */
void plugin_put(FILE *out, ...) __attribute__((sentinel));
/* Tells the host's log and the report where the nodes of a part run, which has been compiled: a warning if it is not
 * where the chain would have it. */
void plugin_tell_part(plugin_ep *ep, tort_session *session);
/* Writes what has been added so far to the file of option report. */
void plugin_report_write(plugin_ep *ep);

/* ---- take.c, part.c */

ort_status *plugin_capability(ort_ep *ep, const ort_graph *graph, ort_support *support);
ort_status *plugin_compile(ort_ep *ep, const ort_graph **graphs, const ort_node **fused, size_t count,
                           ort_compute **computes, ort_node **contexts);
void plugin_release(ort_ep *ep, ort_compute **computes, size_t count);

#endif
