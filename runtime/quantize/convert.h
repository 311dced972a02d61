/* convert.h - models with floats of another type: float16 or bfloat16 of float32, and float32 of both. Nodes that
 * would overflow or lose stay as they are, with Casts around them. In the library of quantize.h, whose samples it
 * takes. Read next: convert.c (which nodes), retype.c (the message). */
#ifndef TORT_CONVERT_H
#define TORT_CONVERT_H

#include "runtime/quantize/quantize.h"

typedef struct tort_convert_options {
    tort_session_options session;  /* shapes, symbols and fusions to fold with; the chain that runs the trials */
    tort_type to;                  /* TORT_FLOAT16, TORT_BFLOAT16 or TORT_FLOAT */
    bool ports;                    /* inputs and outputs change their type, too */
    const char *const *keep_nodes; /* stay as they are, by name */
    const char *const *keep_ops;   /* the same, by operator */
    int32_t keep_node_count, keep_op_count;
    double min_db; /* decibels that every output must reach: the most sensitive nodes stay float32; 0: none do */
    /* Progress, as in tort_quantize_options. */
    bool (*progress)(void *ud, const char *phase, int32_t done, int32_t of);
    void *progress_ud;
} tort_convert_options;

typedef struct tort_converted_report {
    tort_quantized_node *kept; /* nodes that could change and stay, or have no such type, and why */
    int32_t kept_count;
    int32_t changed;    /* nodes of the new type */
    int32_t casts;      /* Casts that were added, but for those of ports */
    int32_t port_casts; /* Casts at inputs and outputs that keep their type */
    int32_t samples, evaluations;
    double db_rules, db; /* of the worst output, without and with the nodes that min_db keeps; 120 at most */
    bool finite;         /* no output is infinite or NaN where it was finite */
    bool met;            /* finite, and min_db holds */
    uint64_t before, bytes;
} tort_converted_report;

typedef struct tort_converted tort_converted;

/* Converts a model. The caller frees *converted before the model, also after a failure (NULL is allowed). */
tort_status tort_convert(const tort_model *model, const tort_samples *samples, const tort_convert_options *options,
                         tort_converted **converted, tort_error *error);
const tort_converted_report *tort_converted_report_of(const tort_converted *converted);
/* Writes the model; false and errno after a failure, EFBIG if it has more than 2 GiB. */
bool tort_converted_write(const tort_converted *converted, FILE *file);
void tort_converted_free(tort_converted *converted);

#endif
