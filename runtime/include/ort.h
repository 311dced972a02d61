/* ort.h - the C interface of ONNX Runtime for execution providers in shared objects, declared by us: tinyort is such a
 * provider (runtime/plugin), and a host of such providers (kernels/plugin). Not installed.
 *
 * A table of functions is one pointer after another; the number of a slot never changes, and tables only grow at their
 * end. ORT_VERSION is the first version whose tables have all the slots that are here; a host of an older one gives
 * none. Slots that nobody needs are gaps. Functions that can fail return a status, NULL for success, which the caller
 * releases. Source of numbers and signatures: the public headers of ONNX Runtime 1.24, for what tinyort calls, and
 * 1.29, for what it gives. */
#ifndef TORT_RUNTIME_ORT_H
#define TORT_RUNTIME_ORT_H

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
typedef struct ort_factory ort_factory;
typedef struct ort_logger ort_logger;
typedef struct ort_attribute ort_attribute;
typedef struct ort_value_info ort_value_info;
typedef struct ort_hardware ort_hardware;
typedef struct ort_device ort_device; /* OrtEpDevice: a provider on a hardware device */
typedef struct ort_graph ort_graph;
typedef struct ort_node ort_node;
typedef struct ort_support ort_support; /* OrtEpGraphSupportInfo: receives the nodes that a provider takes */
typedef struct ort_pairs ort_pairs;
typedef struct ort_memory ort_memory;     /* OrtMemoryInfo and OrtMemoryDevice */
typedef struct ort_metadata ort_metadata; /* of a model */
typedef struct ort_external ort_external; /* a constant in a file of its own */
typedef struct ort_context ort_context;   /* of a fused node's state */
typedef struct ort_allocator ort_allocator;

/* Codes of a status. EP_FAIL is not used: the class of ONNX Runtime's Python package answers it by a second session on
 * the CPU, silently. */
enum { ORT_FAIL = 1, ORT_INVALID_ARGUMENT = 2, ORT_RUNTIME_EXCEPTION = 6, ORT_NOT_IMPLEMENTED = 9 };
enum { ORT_LOG_INFO = 1, ORT_LOG_WARNING = 2, ORT_LOG_ERROR = 3 };
enum { ORT_KIND_TENSOR = 1, ORT_KIND_SEQUENCE = 2, ORT_KIND_OPTIONAL = 6 }; /* of a type info */
enum { ORT_HARDWARE_CPU = 0, ORT_HARDWARE_GPU, ORT_HARDWARE_NPU };
enum { ORT_MEMORY_DEFAULT = 0, ORT_MEMORY_HOST_ACCESSIBLE = 5 };
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
    void *unused_3[47];
    ort_status *(*is_tensor)(const ort_value *value, int *is);  /* 50 */
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
    ort_status *(*element_count)(const ort_shape_info *info, size_t *count);                /* 64 */
    ort_status *(*shape_of)(const ort_value *value, ort_shape_info **info);                 /* 65 */
    ort_status *(*type_of)(const ort_value *value, ort_type_info **type);                   /* 66 */
    ort_status *(*kind_of_value)(const ort_value *value, int *kind);                        /* 67 */
    void *unused_68[1];
    ort_status *(*create_host_memory)(int allocator, int kind, ort_memory **memory); /* 69 */
    void *unused_70[1];
    ort_status *(*memory_name)(const ort_memory *memory, const char **name);                    /* 71 */
    ort_status *(*memory_id)(const ort_memory *memory, int *id);                                /* 72 */
    ort_status *(*memory_kind)(const ort_memory *memory, int *kind);                            /* 73 */
    ort_status *(*memory_allocator)(const ort_memory *memory, int *kind);                       /* 74 */
    ort_status *(*allocate)(ort_allocator *allocator, size_t bytes, void **block);              /* 75 */
    ort_status *(*deallocate)(ort_allocator *allocator, void *block);                           /* 76 */
    ort_status *(*allocator_memory)(const ort_allocator *allocator, const ort_memory **memory); /* 77 */
    ort_status *(*default_allocator)(ort_allocator **allocator);                                /* 78 */
    void *unused_79[9];
    ort_status *(*input_count)(const ort_run *run, size_t *count);                                          /* 88 */
    ort_status *(*output_count)(const ort_run *run, size_t *count);                                         /* 89 */
    ort_status *(*input)(const ort_run *run, size_t index, const ort_value **value);                        /* 90 */
    ort_status *(*output)(ort_run *run, size_t index, const int64_t *dims, size_t rank, ort_value **value); /* 91 */
    void *unused_92[1];
    void (*release_status)(ort_status *status); /* 93 */
    void (*release_memory)(ort_memory *memory); /* 94 */
    void *unused_95[1];
    void (*release_value)(ort_value *value); /* 96 */
    void *unused_97[1];
    void (*release_type)(ort_type_info *type);   /* 98 */
    void (*release_shape)(ort_shape_info *info); /* 99 */
    void *unused_100[4];
    ort_status *(*as_sequence)(const ort_type_info *type, const ort_sequence_type **sequence); /* 104 */
    void *unused_105[2];
    ort_status *(*sequence_element)(const ort_sequence_type *sequence, ort_type_info **element); /* 107 */
    void *unused_108[4];
    ort_status *(*producer_name)(const ort_metadata *metadata, ort_allocator *allocator, char **text);   /* 112 */
    ort_status *(*metadata_graph)(const ort_metadata *metadata, ort_allocator *allocator, char **text);  /* 113 */
    ort_status *(*metadata_domain)(const ort_metadata *metadata, ort_allocator *allocator, char **text); /* 114 */
    ort_status *(*metadata_text)(const ort_metadata *metadata, ort_allocator *allocator, char **text);   /* 115 */
    void *unused_116[1];
    ort_status *(*metadata_version)(const ort_metadata *metadata, int64_t *version); /* 117 */
    void (*release_metadata)(ort_metadata *metadata);                                /* 118 */
    void *unused_119[4];
    ort_status *(*metadata_keys)(const ort_metadata *metadata, ort_allocator *allocator, char ***keys,
                                 int64_t *count); /* 123 */
    void *unused_124[34];
    ort_status *(*metadata_graph_text)(const ort_metadata *metadata, ort_allocator *allocator, char **text); /* 158 */
    void *unused_159[33];
    ort_status *(*has_value)(const ort_value *value, int *has);                  /* 192 */
    ort_status *(*gpu_stream)(const ort_run *run, void **stream);                /* 193 */
    ort_status *(*memory_of)(const ort_value *value, const ort_memory **memory); /* 194 */
    void *unused_195[30];
    void (*memory_device_type)(const ort_memory *memory, int *type); /* 225 */
    void *unused_226[11];
    ort_status *(*has_entry)(const ort_options *options, const char *key, int *has);              /* 237 */
    ort_status *(*entry)(const ort_options *options, const char *key, char *value, size_t *size); /* 238 */
    void *unused_239[7];
    ort_status *(*run_logger)(const ort_run *run, const ort_logger **logger); /* 246 */
    ort_status *(*log)(const ort_logger *logger, int level, const char *message, const char *file, int line,
                       const char *function);                       /* 247 */
    ort_status *(*log_level)(const ort_logger *logger, int *level); /* 248 */
    void *unused_249[1];
    ort_status *(*as_optional)(const ort_type_info *type, const ort_optional_type **optional);   /* 250 */
    ort_status *(*optional_element)(const ort_optional_type *optional, ort_type_info **element); /* 251 */
    ort_status *(*string_buffer)(ort_value *value, size_t index, size_t length, char **buffer); /* 252: of an element */
    ort_status *(*run_allocator)(const ort_run *run, const ort_memory *memory, ort_allocator **allocator); /* 253 */
    const char *(*build_text)(void);                                                                       /* 254 */
    void *unused_255[17];
    ort_status *(*read_attribute)(const ort_attribute *attribute, int type, void *data, size_t size,
                                  size_t *needed); /* 272 */
    void *unused_273[1];
    ort_status *(*parallel_for)(const ort_run *run, void (*body)(void *arg, size_t index), size_t count, size_t batches,
                                void *arg); /* 274 */
    void *unused_275[14];
    ort_status *(*value_name)(const ort_value_info *value, const char **name);          /* 289 */
    ort_status *(*value_type)(const ort_value_info *value, const ort_type_info **type); /* 290 */
    const void *(*model_editor)(void);                                                  /* 291 */
    void *unused_292[2];
    const void *(*compile_api)(void);                                       /* 294 */
    void (*create_pairs)(ort_pairs **pairs);                                /* 295 */
    void (*add_pair)(ort_pairs *pairs, const char *key, const char *value); /* 296 */
    const char *(*pair)(const ort_pairs *pairs, const char *key);           /* 297 */
    void (*pairs)(const ort_pairs *pairs, const char *const **keys, const char *const **values,
                  size_t *count);                           /* 298 */
    void (*remove_pair)(ort_pairs *pairs, const char *key); /* 299 */
    void (*release_pairs)(ort_pairs *pairs);                /* 300 */
    void *unused_301[6];
    int (*hardware_type)(const ort_hardware *device);                   /* 307 */
    uint32_t (*hardware_vendor_id)(const ort_hardware *device);         /* 308 */
    const char *(*hardware_vendor)(const ort_hardware *device);         /* 309 */
    uint32_t (*hardware_id)(const ort_hardware *device);                /* 310 */
    const ort_pairs *(*hardware_pairs)(const ort_hardware *device);     /* 311 */
    const char *(*device_ep)(const ort_device *device);                 /* 312 */
    const char *(*device_vendor)(const ort_device *device);             /* 313 */
    const ort_pairs *(*device_metadata)(const ort_device *device);      /* 314 */
    const ort_pairs *(*device_options)(const ort_device *device);       /* 315 */
    const ort_hardware *(*device_hardware)(const ort_device *device);   /* 316 */
    const struct ort_ep_api *(*ep_api)(void);                           /* 317 */
    ort_status *(*tensor_bytes)(const ort_value *value, size_t *bytes); /* 318 */
    void *unused_319[1];
    ort_status *(*create_memory)(const char *name, int device_type, uint32_t vendor, int32_t device, int kind,
                                 size_t alignment, int allocator, ort_memory **memory);          /* 320 */
    int (*memory_access)(const ort_memory *memory);                                              /* 321 */
    uint32_t (*memory_vendor)(const ort_memory *memory);                                         /* 322 */
    ort_status *(*producer)(const ort_value_info *value, const ort_node **node, size_t *output); /* 323 */
    ort_status *(*consumer_count)(const ort_value_info *value, size_t *count);                   /* 324 */
    ort_status *(*consumers)(const ort_value_info *value, const ort_node **nodes, int64_t *inputs,
                             size_t count);                                                               /* 325 */
    ort_status *(*initializer)(const ort_value_info *value, const ort_value **tensor);                    /* 326 */
    ort_status *(*external)(const ort_value_info *value, ort_external **external);                        /* 327 */
    ort_status *(*is_required_input)(const ort_value_info *value, bool *is);                              /* 328 */
    ort_status *(*is_optional_input)(const ort_value_info *value, bool *is);                              /* 329 */
    ort_status *(*is_graph_output)(const ort_value_info *value, bool *is);                                /* 330 */
    ort_status *(*is_constant)(const ort_value_info *value, bool *is);                                    /* 331 */
    ort_status *(*is_from_around)(const ort_value_info *value, bool *is);                                 /* 332 */
    ort_status *(*graph_name)(const ort_graph *graph, const char **name);                                 /* 333 */
    ort_status *(*model_path)(const ort_graph *graph, const char **path);                                 /* 334 */
    ort_status *(*ir_version)(const ort_graph *graph, int64_t *version);                                  /* 335 */
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
    ort_status *(*node_id)(const ort_node *node, size_t *id);                                       /* 348 */
    ort_status *(*node_name)(const ort_node *node, const char **name);                              /* 349 */
    ort_status *(*node_op)(const ort_node *node, const char **op);                                  /* 350 */
    ort_status *(*node_domain)(const ort_node *node, const char **domain);                          /* 351 */
    ort_status *(*since_version)(const ort_node *node, int *version);                               /* 352 */
    ort_status *(*node_input_count)(const ort_node *node, size_t *count);                           /* 353 */
    ort_status *(*node_inputs)(const ort_node *node, const ort_value_info **values, size_t count);  /* 354 */
    ort_status *(*node_output_count)(const ort_node *node, size_t *count);                          /* 355 */
    ort_status *(*node_outputs)(const ort_node *node, const ort_value_info **values, size_t count); /* 356 */
    ort_status *(*implicit_count)(const ort_node *node, size_t *count); /* 357: what its bodies read from around it */
    ort_status *(*implicit)(const ort_node *node, const ort_value_info **values, size_t count);              /* 358 */
    ort_status *(*attribute_count)(const ort_node *node, size_t *count);                                     /* 359 */
    ort_status *(*attributes)(const ort_node *node, const ort_attribute **attributes, size_t count);         /* 360 */
    ort_status *(*attribute_named)(const ort_node *node, const char *name, const ort_attribute **attribute); /* 361 */
    ort_status *(*attribute_tensor)(const ort_attribute *attribute, ort_value **value);                      /* 362 */
    ort_status *(*attribute_type)(const ort_attribute *attribute, int *type);                                /* 363 */
    ort_status *(*attribute_name)(const ort_attribute *attribute, const char **name);                        /* 364 */
    ort_status *(*body_count)(const ort_node *node, size_t *count);                                          /* 365 */
    ort_status *(*bodies)(const ort_node *node, const ort_graph **bodies, size_t count,
                          const char **attributes);                         /* 366 */
    ort_status *(*graph_of)(const ort_node *node, const ort_graph **graph); /* 367 */
    ort_status *(*node_ep)(const ort_node *node, const char **name);        /* 368 */
    void *unused_369[5];
    const ort_memory *(*device_memory)(const ort_device *device, int kind); /* 374 */
    void *unused_375[3];
    ort_status *(*data)(const ort_value *value, const void **data);          /* 378 */
    ort_status *(*entries)(const ort_options *options, ort_pairs **entries); /* 379 */
    void *unused_380[7];
    ort_status *(*model_metadata)(const ort_graph *graph, ort_metadata **metadata); /* 387 */
    void *unused_388[2];
    bool (*has_shape)(const ort_shape_info *info); /* 390 */
    void *unused_391[23];
    ort_status *(*shape_data)(const ort_value *value, int *type, const int64_t **dims, size_t *rank); /* 414 */
    void *unused_415[8];
    ort_status *(*run_stream)(const ort_run *run, void **stream); /* 423 */
    void *unused_424[1];
    ort_status *(*preallocated)(const ort_run *run, size_t index, ort_value **value); /* 425 */
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

/* A block of memory; the functions behind `memory` are of later versions. */
struct ort_allocator {
    uint32_t version;
    void *(*allocate)(ort_allocator *allocator, size_t bytes);
    void (*deallocate)(ort_allocator *allocator, void *block);
    const ort_memory *(*memory)(const ort_allocator *allocator);
    void *(*reserve)(ort_allocator *allocator, size_t bytes);
    void *rest[3];
};

typedef struct ort_api_base {
    const ort_api *(*get)(uint32_t version); /* NULL: the host is older */
    const char *(*version)(void);
} ort_api_base;

/* Exported as CreateEpFactories and ReleaseEpFactory. */
typedef ort_status *ort_create_factories(const char *name, const ort_api_base *base, const ort_logger *logger,
                                         struct ort_factory **factories, size_t max, size_t *count);
typedef ort_status *ort_release_factory(struct ort_factory *factory);

/* How nodes are fused. */
typedef struct ort_fusion {
    uint32_t version;
    bool drop_constants; /* constant initializers are no inputs of the fused node, and the host may free them */
} ort_fusion;

typedef struct ort_ep_api {
    ort_status *(*create_device)(struct ort_factory *factory, const ort_hardware *hardware, const ort_pairs *metadata,
                                 const ort_pairs *options, ort_device **device); /* 0 */
    void (*release_device)(ort_device *device);                                  /* 1 */
    ort_status *(*add_nodes)(ort_support *support, const ort_node *const *nodes, size_t count,
                             const ort_fusion *fusion); /* 2: to one fused node: none may depend on a node in between */
    ort_status *(*add_node)(ort_support *support, const ort_node *node);     /* 3: for a kernel of the plugin */
    const char *(*context_name)(const ort_context *context);                 /* 4 */
    ort_status *(*add_memory)(ort_device *device, const ort_memory *memory); /* 5 */
    const ort_memory *(*memory_place)(const ort_memory *memory);             /* 6 */
    const ort_memory *(*value_place)(const ort_value *value);                /* 7 */
    bool (*same_place)(const ort_memory *a, const ort_memory *b);            /* 8 */
    int (*place_type)(const ort_memory *memory);                             /* 9 */
    int (*place_access)(const ort_memory *memory);                           /* 10 */
    uint32_t (*place_vendor)(const ort_memory *memory);                      /* 11 */
    uint32_t (*place_id)(const ort_memory *memory);                          /* 12 */
    void *unused_13[36];
    ort_status *(*env_entries)(ort_pairs **entries); /* 49 */
    void *unused_50[23];
    ort_status *(*source_model)(const ort_options *options, const void **data, size_t *bytes); /* 73 */
} ort_ep_api;

/* ---- what a plugin gives ------------------------------------------------------------------------------------------
 */

/* A fused node, compiled. */
typedef struct ort_compute {
    uint32_t version;
    ort_status *(*create_state)(struct ort_compute *compute, ort_context *context, void **state);
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
    void *unused_5[9];
    ort_status *(*runs_at_once)(struct ort_ep *ep, bool *may); /* 14, from version 24 on; NULL: yes */
    void *unused_15[8];
    ort_status *(*default_memory)(const struct ort_ep *ep, const ort_memory **memory); /* 23, from version 27 on */
    void *unused_24[2];
} ort_ep;

_Static_assert(offsetof(ort_ep, runs_at_once) == 14 * sizeof(void *), "slot 14");
_Static_assert(offsetof(ort_ep, default_memory) == 23 * sizeof(void *), "slot 23");

struct ort_factory {
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
};

#endif
