/* quantize.h - makes 8-bit models of float32 ones, tells what each node costs, and converts between types of floats. A
 * library of its own, for the command line and Python: it needs tinyort.h's library and what writes models
 * (runtime/export). Read next: quantize.c (the order of the work), rules.c (which nodes), write.c (QDQ). */
#ifndef TORT_QUANTIZE_H
#define TORT_QUANTIZE_H

#include <stdio.h>

#include "runtime/include/tinyort.h"

/* Consumer of the model, whose rules it follows. */
typedef enum tort_scheme {
    TORT_SCHEME_ORT,      /* uint8 values with zero points, int8 weights by channel, int32 biases */
    TORT_SCHEME_FIRMWARE, /* as ORT, with values in int8 */
    TORT_SCHEME_TENSORRT, /* int8 without zero points, at the inputs of products alone; biases in float32 */
} tort_scheme;

typedef enum tort_range_rule { TORT_MINMAX, TORT_99_99, TORT_99_999, TORT_MSE, TORT_RANGE_RULES } tort_range_rule;
extern const char *const tort_range_names[TORT_RANGE_RULES]; /* "minmax", "99.99 %", ... */

/* Inputs for calibration. */
typedef struct tort_samples {
    int32_t count;
    /* Fills the tensors of sample `index`, in the order of the model's inputs: valid until the next call. */
    tort_status (*read)(void *ud, int32_t index, tort_tensor *inputs, tort_error *error);
    void *ud;
} tort_samples;

typedef struct tort_quantize_options {
    tort_session_options session; /* shapes, symbols and fusions to fold with; the chain that runs the trials */
    tort_scheme scheme;
    const char *const *keep_nodes; /* stay in float32, by name */
    const char *const *keep_ops;   /* the same, by operator */
    int32_t keep_node_count, keep_op_count;
    double max_error;     /* decibels that must be reached: the most sensitive units stay float; 0: none do */
    double min_agreement; /* share 0..1 of equal decisions that must be reached; 0: none */
    const int64_t *truth; /* a label for each sample, borrowed; NULL: decisions are compared with float32 */
    uint64_t max_bytes;   /* of weights: no more units stay float; 0: any number */
    bool sensitivity;     /* measure each unit alone, as max_error and min_agreement do anyway */
    int32_t weight_bits; /* 4, 8: matrices alone, in blocks; by GPTQ with samples, else to the nearest. 0: values too */
    int32_t block;       /* of weight_bits: rows of a scale, a power of two from 16 on */
    bool dynamic;        /* values are quantized in each run: matrices in 8 bits by column, without samples */
    /* Told what is being done, and how far it is; false: end with TORT_E_CANCELLED. NULL: nobody looks. */
    bool (*progress)(void *ud, const char *phase, int32_t done, int32_t of);
    void *progress_ud;
} tort_quantize_options;

/* A unit: nodes that are in 8 bits together, such as a Conv with its Relu. */
typedef struct tort_quantized_unit {
    const char *name;  /* of its first node */
    const char *nodes; /* "Conv+Relu" */
    int64_t weights;   /* elements of its constants */
    int32_t bits;      /* 4, 8, or 32 */
    float low, high;   /* of what it writes */
    double saturated;  /* share of values outside of the range, in samples that did not make it */
    double alone;      /* dB at the outputs with this unit alone in 8 bits; NAN: not measured */
    bool grouped;      /* measured in a group: alone is that of an equal share */
    const char *why;   /* of one that stays float32; otherwise "" */
} tort_quantized_unit;

/* A candidate for the ranges, and what it gave on samples that did not make them. */
typedef struct tort_quantized_rule {
    tort_range_rule rule;
    bool margin, bias; /* 15 % at the outputs; biases corrected */
    double db;
} tort_quantized_rule;

typedef struct tort_quantized_node {
    const char *name, *op, *why;
} tort_quantized_node;

typedef struct tort_quantized_report {
    tort_quantized_rule rules[TORT_RANGE_RULES * 4]; /* the best first */
    int32_t rule_count;
    tort_quantized_unit *units; /* in the order of the model */
    int32_t unit_count;
    tort_quantized_node *floats; /* nodes that have no 8-bit form */
    int32_t float_count;
    int32_t samples, held_out, evaluations;
    double db_all, db;               /* with all units in 8 bits; with those that stayed. NAN: no samples */
    double agreement_all, agreement; /* equal decisions, 0..1; of the first output. NAN: no samples */
    double float_accuracy;           /* with truth: of the float32 model; otherwise NAN */
    int32_t kept;                    /* units that stay float32 for max_error or min_agreement */
    bool met;                        /* what max_error and min_agreement asked for */
    uint64_t float_bytes, bytes;     /* of the weights */
} tort_quantized_report;

typedef struct tort_quantized tort_quantized;

/* Quantizes a model; samples are NULL with dynamic, and may be with weight_bits. The caller frees *quantized before the
 * model, also after a failure (NULL is allowed). */
tort_status tort_quantize(const tort_model *model, const tort_samples *samples, const tort_quantize_options *options,
                          tort_quantized **quantized, tort_error *error);
const tort_quantized_report *tort_quantized_report_of(const tort_quantized *quantized);
/* Writes the model; false and errno after a failure, EFBIG if it has more than 2 GiB. */
bool tort_quantized_write(const tort_quantized *quantized, FILE *file);
void tort_quantized_free(tort_quantized *quantized);

#endif
