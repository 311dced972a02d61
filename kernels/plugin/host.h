/* host.h - what the files of this folder share: a host of execution provider plugins of ONNX Runtime.
 *
 * A plugin is a shared object with two functions, CreateEpFactories and ReleaseEpFactory. It is given tables of
 * functions (slots.c) with which it reads the graph and the tensors of a run; it gives a factory, that an EP, and that,
 * for a graph, what computes it. The types that the plugin sees only by pointer are defined here. Nothing here is
 * global: objects carry what their functions need. What a plugin gives is checked, as far as a pointer can be.
 * Read next: plugin_provider.c, open.c, choose.c, compile.c; then graph.c and objects.c, which answer the plugin. */
#ifndef TORT_KERNELS_PLUGIN_HOST_H
#define TORT_KERNELS_PLUGIN_HOST_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/base/memory.h"
#include "runtime/include/ort.h"
#include "runtime/include/provider.h"

/* Versions of the tables: the newest one of which slots.inc has all slots, and the first with all that is used of an
 * OrtEp without looking at its version. */
#define TORT_HOST_VERSION 30
enum { TORT_HOST_OLDEST_EP = 23 };

typedef struct tort_host tort_host;

/* Returns a status with these words from the function that it is written in. */
#define TORT_HOST_FAIL(code, ...)                                                                                      \
    do {                                                                                                               \
        char words_[400];                                                                                              \
        snprintf(words_, sizeof words_, __VA_ARGS__);                                                                  \
        return tort_host_create_status(code, words_);                                                                  \
    } while (0)

/* A function of a table that sets *out, or returns, what it knows of an object, `it`. */
#define GETTER(member, object, type, expression)                                                                       \
    ort_status *tort_host_##member(object *it, type *out) {                                                            \
        (void)it;                                                                                                      \
        *out = (expression);                                                                                           \
        return NULL;                                                                                                   \
    }
#define ANSWER(member, object, type, expression)                                                                       \
    type tort_host_##member(const object *it) {                                                                        \
        (void)it;                                                                                                      \
        return (expression);                                                                                           \
    }

/* ---- objects (objects.c) ----------------------------------------------------------------------------------------- */

struct ort_memory {
    char name[64];
    int device_type, access, allocator; /* access: ORT_MEMORY_... */
    uint32_t vendor;
    int32_t device;
};
extern const ort_memory tort_host_memory; /* where all values are */

struct ort_pairs {
    char **keys, **values;
    size_t count;
};
void tort_host_copy_pairs(ort_pairs *to, const ort_pairs *from);
void tort_host_clear_pairs(ort_pairs *pairs); /* leaves an empty list */

/* Keeps what the plugin has logged, from warnings on, until somebody asks. */
struct ort_logger {
    pthread_mutex_t lock;
    size_t used;
    char words[600];
};

struct ort_hardware {
    tort_host *host;
    int type;
    uint32_t vendor_id;
    const char *vendor;
    ort_pairs pairs;
};

struct ort_device {
    struct ort_device *next; /* of all that this host has made */
    ort_factory *factory;
    const ort_hardware *hardware;
    char name[64], vendor[64];
    ort_pairs metadata, options;
    ort_memory memory, accessible; /* by EpDevice_AddAllocatorInfo; name "": none */
};

struct ort_options {
    ort_pairs entries;
};

struct ort_context {
    const char *name;
};

/* ---- tensors and graphs (graph.c) -------------------------------------------------------------------------------- */

struct ort_shape_info {
    int type;                    /* as ONNX Runtime numbers them */
    int32_t rank;                /* -1: unknown */
    int64_t dims[TORT_MAX_RANK]; /* -1: unknown */
    const char *names[TORT_MAX_RANK];
};
struct ort_type_info {
    ort_shape_info tensor;
};
struct ort_value {
    ort_type_info type;
    void *data; /* NULL: not loaded */
    size_t bytes;
};
/* The number of an element type in ONNX Runtime; 0: it has none. */
int tort_host_element(tort_type type);
/* Sets type, shape, data and bytes of a tensor; false: no such tensor. */
bool tort_host_fill(ort_value *value, const tort_tensor *tensor);

struct ort_value_info {
    ort_value value; /* data: of a constant */
    const ort_graph *graph;
    const char *name;
    int32_t number;
};
struct ort_attribute {
    const tort_attribute *from;
    ort_value tensor;
};
struct ort_node {
    const ort_graph *graph;
    const char *name, *op, *domain;
    const int32_t *inputs, *outputs; /* numbers of values; -1: absent */
    ort_attribute *attributes;
    int32_t input_count, output_count, attribute_count, opset;
    size_t id;
};

enum { TORT_HOST_DOMAINS = 16, TORT_HOST_SYMBOL = 48 };

struct ort_graph {
    tort_host *host;
    const tort_env *env;
    const tort_model *model; /* NULL: none */
    const tort_segment_view *view;
    ort_value_info *values;
    ort_node *nodes;
    ort_attribute *attributes;
    char (*symbols)[TORT_HOST_SYMBOL];
    int32_t attribute_count, symbol_count, domain_count;
    const char *domains[TORT_HOST_DOMAINS];
    int64_t versions[TORT_HOST_DOMAINS];
};

/* Makes a graph of the nodes of a segment, whose view it borrows; free it also after an error. */
tort_status tort_host_read_graph(tort_host *host, const tort_env *env, const tort_node_view *node, ort_graph *graph,
                                 tort_error *error);
void tort_host_free_graph(ort_graph *graph);

/* ---- the host (open.c) ------------------------------------------------------------------------------------------- */

enum { TORT_HOST_FACTORIES = 8, TORT_HOST_DEVICES = 16 };

struct tort_host {
    const tort_env *env;
    char path[256]; /* of the shared object */
    ort_release_factory *release_factory;
    ort_factory *factories[TORT_HOST_FACTORIES];
    size_t factory_count;
    ort_hardware cpu;
    ort_device *made;   /* all that the plugin has made */
    ort_device *device; /* the one in use */
    ort_ep *ep;
    char name[64]; /* of the EP */
    ort_options options;
    ort_logger logger;
    bool drops, drops_known; /* whether fused nodes are without constants, as the plugin has said in choose */
    bool runs_at_once;       /* several runs at a time */
    pthread_mutex_t one_run; /* where they may not */
    int32_t compiled;        /* segments so far, for their names */
};

/* Takes the words of a status, which is released, and of the log since the last call, in one line. */
void tort_host_words(tort_host *host, ort_status *status, char *text, size_t size);
void tort_host_open(const tort_provider_config *config, const char *path, void **device, tort_target *target,
                    tort_condition *condition);
void tort_host_close(void *device);

/* ---- the engine (choose.c, compile.c) ---------------------------------------------------------------------------- */

tort_status tort_host_choose(tort_choice *choice);
/* Asks the plugin which nodes of the graph it would fuse: groups, by node; -1: none. After an error it is none. */
ort_status *tort_host_ask(tort_host *host, const ort_graph *graph, int32_t *groups, bool *has_kernels);
tort_status tort_host_compile(tort_compiling *compile);
void tort_host_release(void *device, const tort_env *env, void *compiled);
tort_status tort_host_begin(void *device, const tort_env *env, void *compiled, void **state, tort_error *error);
void tort_host_end(void *device, const tort_env *env, void *compiled, void *state);
tort_status tort_host_run(const tort_call *call);

/* ---- finding the shared object (find.c) -------------------------------------------------------------------------- */

/* A package of Python that has a plugin. */
typedef struct tort_host_package {
    const char *provider, *folder, *file, *pip;
} tort_host_package;

/* The file of the package in a folder; false: it is not there. */
bool tort_host_in_folder(const tort_host_package *package, const char *folder, char *path, size_t size);
/* Finds the file of the package; false: `tried` has the places. */
bool tort_host_find(const tort_host_package *package, char *path, size_t size, char *tried, size_t tried_size);

/* ---- one plugin that is known closer (openvino.c) -----------------------------------------------------------------
 */

/* Facts of the target: it is OpenVINO's; its options say where it fuses by its own compiler of small loops. */
enum { TORT_HOST_OPENVINO, TORT_HOST_SNIPPETS };
tort_verdict tort_host_claim_openvino(const tort_target *target, const tort_node_view *node);
/* Sets the facts, and writes a note where it computes in bfloat16, as the options do not say otherwise. */
void tort_host_know_openvino(const tort_provider_config *config, tort_target *target, char *note, size_t size);

/* ---- the tables (slots.c) ---------------------------------------------------------------------------------------- */

extern const ort_api_base tort_host_base;
uint32_t tort_host_newest_asked(bool reset); /* of this thread, since it was reset: a version of the tables */

#include "kernels/plugin/slots.inc"

/* All functions that are given, with the types of runtime/include/ort.h: tort_host_NAME for the member NAME. */
#define TORT_NOTHING(table, name)
#define TORT_DECLARED(table, name, member) __typeof__(*((table *)0)->member) tort_host_##member;
TORT_HOST_API(ort_api, TORT_NOTHING, TORT_NOTHING, TORT_DECLARED)
TORT_HOST_EP_API(ort_ep_api, TORT_NOTHING, TORT_NOTHING, TORT_DECLARED)

#endif
