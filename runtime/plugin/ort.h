/* ort.h - what tinyort calls of ONNX Runtime, and what ONNX Runtime calls of tinyort: its C interface for execution
 * providers in shared objects, declared by us.
 *
 * A table of functions is one pointer after another; the number of a slot never changes, and tables only grow at their
 * end. ORT_VERSION is the first version whose tables have all the slots that are here; a host of an older one gives
 * none. Slots that nobody needs are gaps. Functions that can fail return a status, NULL for success, which the caller
 * releases. Source of numbers and signatures: the public header of ONNX Runtime 1.24. */
#ifndef TORT_PLUGIN_ORT_H
#define TORT_PLUGIN_ORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ORT_VERSION = 24 };

typedef struct ort_status ort_status;
typedef struct ort_value ort_value;
typedef struct ort_type_info ort_type_info;
typedef struct ort_shape_info ort_shape_info; /* element type and shape of a tensor */
typedef struct ort_sequence_type ort_sequence_type;
typedef struct ort_optional_type ort_optional_type;
typedef struct ort_run ort_run;         /* OrtKernelContext: inputs and outputs of a run of one fused node */
typedef struct ort_options ort_options; /* of a session */
typedef struct ort_logger ort_logger;
typedef struct ort_attribute ort_attribute;
typedef struct ort_value_info ort_value_info;
typedef struct ort_hardware ort_hardware;
typedef struct ort_device ort_device; /* OrtEpDevice: a provider on a hardware device */
typedef struct ort_graph ort_graph;
typedef struct ort_node ort_node;
typedef struct ort_support ort_support; /* OrtEpGraphSupportInfo: receives the nodes that a provider takes */
typedef struct ort_pairs ort_pairs;

/* Codes of a status. EP_FAIL is not used: the class of ONNX Runtime's Python package answers it by a second session on
 * the CPU, silently. */
enum { ORT_FAIL = 1, ORT_INVALID_ARGUMENT = 2, ORT_RUNTIME_EXCEPTION = 6, ORT_NOT_IMPLEMENTED = 9 };
enum { ORT_LOG_INFO = 1, ORT_LOG_WARNING = 2 };
enum { ORT_KIND_TENSOR = 1, ORT_KIND_SEQUENCE = 2, ORT_KIND_OPTIONAL = 6 }; /* of a type info */
enum { ORT_HARDWARE_CPU = 0 };
/* Types of attributes. */
enum {
    ORT_ATTR_INT = 1,
    ORT_ATTR_INTS,
    ORT_ATTR_FLOAT,
    ORT_ATTR_FLOATS,
    ORT_ATTR_STRING,
    ORT_ATTR_STRINGS,
    ORT_ATTR_GRAPH,
    ORT_ATTR_TENSOR
};

typedef struct ort_api {
    ort_status *(*create_status)(int code, const char *message); /* 0 */
    int (*error_code)(const ort_status *status);                 /* 1 */
    const char *(*error_message)(const ort_status *status);      /* 2 */
    void *unused_3[48];
    ort_status *(*mutable_data)(ort_value *value, void **data); /* 51 */
    void *unused_52[1];
    ort_status *(*string_bytes)(const ort_value *value, size_t *bytes); /* 53 */
    ort_status *(*string_content)(const ort_value *value, void *text, size_t bytes, size_t *offsets,
                                  size_t count); /* 54: one after another, without ends */
    ort_status *(*tensor_info_of)(const ort_type_info *type, const ort_shape_info **tensor); /* 55 */
    ort_status *(*kind_of)(const ort_type_info *type, int *kind);                            /* 56 */
    void *unused_57[3];
    ort_status *(*element_type)(const ort_shape_info *info, int *type);                     /* 60 */
    ort_status *(*rank)(const ort_shape_info *info, size_t *rank);                          /* 61 */
    ort_status *(*dims)(const ort_shape_info *info, int64_t *dims, size_t count);           /* 62 */
    ort_status *(*dim_names)(const ort_shape_info *info, const char **names, size_t count); /* 63 */
    void *unused_64[1];
    ort_status *(*shape_of)(const ort_value *value, ort_shape_info **info); /* 65 */
    void *unused_66[22];
    ort_status *(*input_count)(const ort_run *run, size_t *count);                                          /* 88 */
    ort_status *(*output_count)(const ort_run *run, size_t *count);                                         /* 89 */
    ort_status *(*input)(const ort_run *run, size_t index, const ort_value **value);                        /* 90 */
    ort_status *(*output)(ort_run *run, size_t index, const int64_t *dims, size_t rank, ort_value **value); /* 91 */
    void *unused_92[1];
    void (*release_status)(ort_status *status); /* 93 */
    void *unused_94[2];
    void (*release_value)(ort_value *value); /* 96 */
    void *unused_97[1];
    void (*release_type)(ort_type_info *type);   /* 98 */
    void (*release_shape)(ort_shape_info *info); /* 99 */
    void *unused_100[4];
    ort_status *(*as_sequence)(const ort_type_info *type, const ort_sequence_type **sequence); /* 104 */
    void *unused_105[2];
    ort_status *(*sequence_element)(const ort_sequence_type *sequence, ort_type_info **element); /* 107 */
    void *unused_108[129];
    ort_status *(*has_entry)(const ort_options *options, const char *key, int *has);              /* 237 */
    ort_status *(*entry)(const ort_options *options, const char *key, char *value, size_t *size); /* 238 */
    void *unused_239[8];
    ort_status *(*log)(const ort_logger *logger, int level, const char *message, const char *file, int line,
                       const char *function); /* 247 */
    void *unused_248[2];
    ort_status *(*as_optional)(const ort_type_info *type, const ort_optional_type **optional);   /* 250 */
    ort_status *(*optional_element)(const ort_optional_type *optional, ort_type_info **element); /* 251 */
    ort_status *(*string_buffer)(ort_value *value, size_t index, size_t length, char **buffer); /* 252: of an element */
    void *unused_253[19];
    ort_status *(*read_attribute)(const ort_attribute *attribute, int type, void *data, size_t size,
                                  size_t *needed); /* 272 */
    void *unused_273[1];
    ort_status *(*parallel_for)(const ort_run *run, void (*body)(void *arg, size_t index), size_t count, size_t batches,
                                void *arg); /* 274 */
    void *unused_275[14];
    ort_status *(*value_name)(const ort_value_info *value, const char **name);          /* 289 */
    ort_status *(*value_type)(const ort_value_info *value, const ort_type_info **type); /* 290 */
    void *unused_291[16];
    int (*hardware_type)(const ort_hardware *device); /* 307 */
    void *unused_308[9];
    const struct ort_ep_api *(*ep_api)(void);                           /* 317 */
    ort_status *(*tensor_bytes)(const ort_value *value, size_t *bytes); /* 318 */
    void *unused_319[7];
    ort_status *(*initializer)(const ort_value_info *value, const ort_value **tensor); /* 326 */
    void *unused_327[4];
    ort_status *(*is_constant)(const ort_value_info *value, bool *is); /* 331 */
    void *unused_332[4];
    ort_status *(*opset_count)(const ort_graph *graph, size_t *count);                                    /* 336 */
    ort_status *(*opsets)(const ort_graph *graph, const char **domains, int64_t *versions, size_t count); /* 337 */
    ort_status *(*graph_input_count)(const ort_graph *graph, size_t *count);                              /* 338 */
    ort_status *(*graph_inputs)(const ort_graph *graph, const ort_value_info **values, size_t count);     /* 339 */
    ort_status *(*graph_output_count)(const ort_graph *graph, size_t *count);                             /* 340 */
    ort_status *(*graph_outputs)(const ort_graph *graph, const ort_value_info **values, size_t count);    /* 341 */
    ort_status *(*initializer_count)(const ort_graph *graph, size_t *count);                              /* 342 */
    ort_status *(*initializers)(const ort_graph *graph, const ort_value_info **values, size_t count);     /* 343 */
    ort_status *(*node_count)(const ort_graph *graph, size_t *count);                                     /* 344 */
    ort_status *(*nodes)(const ort_graph *graph, const ort_node **nodes, size_t count);                   /* 345 */
    ort_status *(*parent_node)(const ort_graph *graph, const ort_node **node);                            /* 346 */
    void *unused_347[1];
    ort_status *(*node_id)(const ort_node *node, size_t *id);              /* 348 */
    ort_status *(*node_name)(const ort_node *node, const char **name);     /* 349 */
    ort_status *(*node_op)(const ort_node *node, const char **op);         /* 350 */
    ort_status *(*node_domain)(const ort_node *node, const char **domain); /* 351 */
    void *unused_352[1];
    ort_status *(*node_input_count)(const ort_node *node, size_t *count);                           /* 353 */
    ort_status *(*node_inputs)(const ort_node *node, const ort_value_info **values, size_t count);  /* 354 */
    ort_status *(*node_output_count)(const ort_node *node, size_t *count);                          /* 355 */
    ort_status *(*node_outputs)(const ort_node *node, const ort_value_info **values, size_t count); /* 356 */
    ort_status *(*implicit_count)(const ort_node *node, size_t *count); /* 357: what its bodies read from around it */
    ort_status *(*implicit)(const ort_node *node, const ort_value_info **values, size_t count);      /* 358 */
    ort_status *(*attribute_count)(const ort_node *node, size_t *count);                             /* 359 */
    ort_status *(*attributes)(const ort_node *node, const ort_attribute **attributes, size_t count); /* 360 */
    void *unused_361[1];
    ort_status *(*attribute_tensor)(const ort_attribute *attribute, ort_value **value); /* 362 */
    ort_status *(*attribute_type)(const ort_attribute *attribute, int *type);           /* 363 */
    ort_status *(*attribute_name)(const ort_attribute *attribute, const char **name);   /* 364 */
    ort_status *(*body_count)(const ort_node *node, size_t *count);                     /* 365 */
    ort_status *(*bodies)(const ort_node *node, const ort_graph **bodies, size_t count,
                          const char **attributes);                         /* 366 */
    ort_status *(*graph_of)(const ort_node *node, const ort_graph **graph); /* 367 */
    void *unused_368[10];
    ort_status *(*data)(const ort_value *value, const void **data); /* 378 */
    void *unused_379[11];
    bool (*has_shape)(const ort_shape_info *info); /* 390 */
} ort_api;

_Static_assert(offsetof(ort_api, error_code) == 1 * sizeof(void *), "slot 1");
_Static_assert(offsetof(ort_api, mutable_data) == 51 * sizeof(void *), "slot 51");
_Static_assert(offsetof(ort_api, string_content) == 54 * sizeof(void *), "slot 54");
_Static_assert(offsetof(ort_api, string_buffer) == 252 * sizeof(void *), "slot 252");
_Static_assert(offsetof(ort_api, release_shape) == 99 * sizeof(void *), "slot 99");
_Static_assert(offsetof(ort_api, sequence_element) == 107 * sizeof(void *), "slot 107");
_Static_assert(offsetof(ort_api, entry) == 238 * sizeof(void *), "slot 238");
_Static_assert(offsetof(ort_api, parallel_for) == 274 * sizeof(void *), "slot 274");
_Static_assert(offsetof(ort_api, value_type) == 290 * sizeof(void *), "slot 290");
_Static_assert(offsetof(ort_api, tensor_bytes) == 318 * sizeof(void *), "slot 318");
_Static_assert(offsetof(ort_api, parent_node) == 346 * sizeof(void *), "slot 346");
_Static_assert(offsetof(ort_api, graph_of) == 367 * sizeof(void *), "slot 367");
_Static_assert(offsetof(ort_api, data) == 378 * sizeof(void *), "slot 378");
_Static_assert(offsetof(ort_api, has_shape) == 390 * sizeof(void *), "slot 390");

typedef struct ort_api_base {
    const ort_api *(*get)(uint32_t version); /* NULL: the host is older */
    const char *(*version)(void);
} ort_api_base;

/* How nodes are fused. */
typedef struct ort_fusion {
    uint32_t version;
    bool drop_constants; /* constant initializers are no inputs of the fused node, and the host may free them */
} ort_fusion;

struct ort_factory;

typedef struct ort_ep_api {
    ort_status *(*create_device)(struct ort_factory *factory, const ort_hardware *hardware, const ort_pairs *metadata,
                                 const ort_pairs *options, ort_device **device);
    void *unused_1[1];
    ort_status *(*add_nodes)(ort_support *support, const ort_node *const *nodes, size_t count,
                             const ort_fusion *fusion); /* to one fused node: none may depend on a node in between */
} ort_ep_api;

/* ---- what tinyort gives ------------------------------------------------------------------------------------------ */

/* A fused node, compiled. */
typedef struct ort_compute {
    uint32_t version;
    ort_status *(*create_state)(struct ort_compute *compute, void *context, void **state);
    ort_status *(*run)(struct ort_compute *compute, void *state, ort_run *run);
    void (*release_state)(struct ort_compute *compute, void *state);
} ort_compute;

/* The provider of one session; members that are NULL are not given. */
typedef struct ort_ep {
    uint32_t version;
    const char *(*name)(const struct ort_ep *ep);
    ort_status *(*capability)(struct ort_ep *ep, const ort_graph *graph, ort_support *support);
    ort_status *(*compile)(struct ort_ep *ep, const ort_graph **graphs, const ort_node **fused, size_t count,
                           ort_compute **computes, ort_node **contexts);
    void (*release)(struct ort_ep *ep, ort_compute **computes, size_t count);
    void *rest[21];
} ort_ep;

typedef struct ort_factory {
    uint32_t version;
    const char *(*name)(const struct ort_factory *factory);
    const char *(*vendor)(const struct ort_factory *factory);
    ort_status *(*devices)(struct ort_factory *factory, const ort_hardware *const *hardware, size_t hardware_count,
                           ort_device **devices, size_t max, size_t *count);
    ort_status *(*create)(struct ort_factory *factory, const ort_hardware *const *hardware,
                          const ort_pairs *const *metadata, size_t count, const ort_options *options,
                          const ort_logger *logger, ort_ep **ep);
    void (*release)(struct ort_factory *factory, ort_ep *ep);
    uint32_t (*vendor_id)(const struct ort_factory *factory);
    const char *(*release_number)(const struct ort_factory *factory);
    void *validate;
    ort_status *(*create_allocator)(struct ort_factory *factory, const void *memory, const ort_pairs *options,
                                    void **allocator);
    void (*release_allocator)(struct ort_factory *factory, void *allocator);
    ort_status *(*create_transfer)(struct ort_factory *factory, void **transfer);
    bool (*is_stream_aware)(const struct ort_factory *factory);
    void *rest[8];
} ort_factory;

#endif
