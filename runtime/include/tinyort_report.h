/* tinyort_report.h - what a session tells of itself: where everything runs, and why. Part of tinyort.h, which includes
 * it at its end. */
#ifndef TINYORT_REPORT_H
#define TINYORT_REPORT_H

#include "tinyort.h"

/* The complete list of answers of a provider to a node, in the order in which a row gets to them: of rows that all
 * refuse, reports have the largest code, whose row came closest. */
typedef enum tort_verdict_code {
    TORT_YES,
    TORT_NO_OP,         /* no kernel for this operator */
    TORT_NO_OPSET,      /* kernels only for other versions of it */
    TORT_NO_TYPE,       /* not for these element types */
    TORT_NO_KIND,       /* not for sequences, optionals, maps */
    TORT_NO_ATTR,       /* not with this attribute value */
    TORT_NO_SHAPE,      /* not for these shapes */
    TORT_NO_DYNAMIC,    /* not where a shape is unknown while planning */
    TORT_NO_CAPABILITY, /* compute capability or instruction set */
    TORT_NO_LIBRARY,    /* a required library is missing */
    TORT_NO_MEMORY,     /* the node does not fit, even alone */
    TORT_PROVIDER_DOWN, /* the provider did not open */
    TORT_DISABLED,      /* switched off by an option */
    TORT_PINNED,        /* the user pinned the node elsewhere */
    TORT_UPSTREAM,      /* an input has no type because of the node named by `root` */
    TORT_VERDICT_COUNT
} tort_verdict_code;

TORT_API const char *tort_verdict_name(tort_verdict_code code); /* "NO_ATTR"; never NULL */

typedef struct tort_report_verdict {
    const char *provider;
    const char *kernel; /* the row that came closest, "" if none */
    tort_verdict_code code;
    const char *message, *cure;
    const char *fusion; /* name of the refused fusion; NULL: the node itself was refused */
    int32_t root;       /* UPSTREAM: index of the node that caused the chain of failures; else -1 */
    bool segment;       /* why the node is in no segment */
    bool precision;     /* why products of 8-bit numbers, which the model quantizes on both sides, run in float32 */
    int64_t bytes;      /* of precision: what the floats take more than the 8-bit numbers; -1: not known before a run */
} tort_report_verdict;

typedef struct tort_report_node {
    /* Number of the node among the model's nodes in execution order, those of bodies after the main graph: "#12" in a
     * pin means exactly that node. A node made of several has the number of the last. Ascending. */
    int32_t index;
    int32_t file_index; /* index in its graph in the file; nodes of one expanded function share it */
    const char *path;   /* "Conv_12", or "Loop_3/body/Add_1" for a node of a body */
    const char *name, *op, *domain;
    int32_t since; /* version of the operator */
    /* Provider of the chain that runs it, "host" (a step of the executor), "folded", or NULL: unplaced. */
    const char *provider, *kernel;
    /* What the kernel is: "plain" (the plain loop), "kernel", "segment", or the library that it calls ("cuDNN"). Of a
     * node without a kernel what `kernel` says. */
    const char *family;
    bool pinned;    /* by an option */
    bool fell_back; /* a provider before the serving one refused it, and it was not pinned away */
    const tort_report_verdict *const *verdicts; /* refusals of better rows, and of providers before the serving one */
    int32_t verdict_count;
    const char *const *from;     /* paths of the model's nodes that a fusion or segment joined */
    const char *const *from_ops; /* and their operators */
    int32_t from_count;
} tort_report_node;

typedef struct tort_report_provider {
    const char *name;
    bool ready;
    const char *code;        /* "READY", "NO_DRIVER" ... */
    const char *description; /* "NVIDIA H100, sm_90, driver 580": what opened; "" when down */
    const char *message, *cure;
    int32_t threads; /* that its kernels really run on; 0: none of this process, or the application's */
    int32_t nodes;
    int64_t weight_bytes;            /* in its memory; packed if its kernels pack */
    int64_t peak_bytes, naive_bytes; /* of a context's values and scratch; -1 while a shape is unknown */
    int64_t engine_bytes;            /* that its engine holds for what it compiled, as it says; 0: none, or unknown */
    int32_t copies_in;
    const char *shares; /* earlier provider of the chain whose memory it shares, and which states the bytes; NULL */
} tort_report_provider;

typedef struct tort_report_copy {
    const char *value, *from, *to;
    int64_t bytes;        /* -1: not known before the run */
    const char *before;   /* path of the node that needs it; "": a copy of an output, at the end */
    int32_t node;         /* its index; -1: an output */
    const char *provider; /* provider whose layout it is, of a conversion; NULL: a copy */
} tort_report_copy;

/* Bytes of host memory, as an allocator counts them, from the end of tort_context_create on; excludes temporary memory
 * of loading and preparing, and values whose shape depends on data (bounded by dynamic_limit). */
typedef struct tort_report_memory {
    int64_t model;   /* the graph: nodes, names, shapes */
    int64_t weights; /* packed, or as they are in the file */
    int64_t session; /* placement, verdicts, the newest plan */
    int64_t context; /* tables of one context; -1 while a shape is unknown */
    int64_t arena;   /* values and scratch of one context; -1 while a shape is unknown */
    int64_t total;   /* the sum, with one context; -1 while a shape is unknown */
    bool grows;      /* values that depend on data come on top during a run, up to the session's dynamic_limit */
} tort_report_memory;

typedef struct tort_report {
    const tort_report_provider *const *providers; /* in the order of the chain */
    int32_t provider_count;
    const tort_report_node *const *nodes;
    const tort_report_copy *const *copies;
    int32_t node_count, copy_count;
    int32_t folded, host, unplaced, fallen_back, pinned, fused; /* counts; `fused`: nodes joined into others */
    const tort_report_memory *memory;
    const tort_symbol_size *bounds; /* upper bounds, for which bytes are computed: {"past", 512}, {"image[2]", 224} */
    int32_t bound_count, conversion_count;
    const char *bounds_note;                    /* values that may be larger below the bounds, and their cost; "" */
    const tort_report_copy *const *conversions; /* `from` and `to` are layouts, such as "plain" */
    int32_t recording, recording_node; /* a tort_recording (tinyort_profile.h), and the node that prevents it; -1 */
    int32_t recorded;                  /* nodes that are recorded: all, or those before the one that prevents more */
    const char *recording_note;        /* why the provider does not record, although it could; "" */
    int32_t products,
        widened; /* convolutions and products of 8-bit numbers, and how many nodes of them run in float32 */
} tort_report;

/* A snapshot of the plan used last. The caller frees it before the session, which owns its strings. */
TORT_API tort_status tort_session_report(tort_session *session, tort_report **report, tort_error *error);
TORT_API void tort_report_free(tort_report *report); /* NULL is allowed */

/* ---- what a node is ---- */

typedef struct tort_described_value {
    const char *name, *type, *shape; /* "x", "float", "1x3xHxW"; name "": absent; shape "?": unknown */
    int64_t bytes;                   /* -1: unknown */
    bool constant;                   /* then, if its range was read: */
    double low, high;                /* of the finite elements; NaN: not read, or no numbers */
} tort_described_value;

/* A node of a report: its operands where it runs, and the attributes that the file gives it, or the fusion that made
 * it: "kernel_shape = [3, 3]". */
typedef struct tort_description {
    const tort_described_value *inputs, *outputs;
    const char *const *attributes;
    int32_t input_count, output_count, attribute_count;
} tort_description;

/* node: tort_report_node.index. The range of constants of up to `range_bytes` bytes is read, which may load them. The
 * caller frees; texts are its own or the session's. TORT_E_USAGE: there is no such node. */
TORT_API tort_status tort_session_describe(tort_session *session, int32_t node, size_t range_bytes,
                                           tort_description **description, tort_error *error);
TORT_API void tort_description_free(tort_description *description); /* NULL is allowed */

#endif
