/* convert_state.h - what the steps of tort_convert share. Private to this folder. */
#ifndef TORT_QUANTIZE_CONVERT_STATE_H
#define TORT_QUANTIZE_CONVERT_STATE_H

#include "runtime/export/message.h"
#include "runtime/export/optimized.h"
#include "runtime/quantize/convert.h"
#include "runtime/quantize/retype.h"
#include "runtime/quantize/trial.h"

/* Sizes of a value's elements in the runs. */
typedef struct tort_seen {
    float min, max; /* of the sizes of finite elements */
    bool any;
} tort_seen;

struct tort_converted {
    tort_env env;
    tort_maker maker, scratch; /* of what lives until the end; of messages that are tried */
    jmp_buf out_of_memory;
    const tort_model *model;
    const tort_convert_options *options;
    tort_error *error;
    tort_trial trial; /* the message that is open */
    tort_optimized *base;
    tort_net net;
    tort_retype retype;
    tort_judge judge;
    tort_seen *seen;              /* by value */
    const char **why;             /* by node that stays; NULL: it changes */
    uint8_t *need, *way;          /* by value */
    bool *changed;                /* by node */
    bool *wanted;                 /* by value */
    double *costs;                /* by node */
    int32_t *list, *order, count; /* nodes that compute and change by the rules: in order of the model, by cost */
    TortOnnx__ModelProto *proto;
    tort_converted_report report;
};

/* "float32" for TORT_FLOAT, else as ONNX names it. */
const char *tort_convert_type_name(tort_type type);

/* stays.c: */
/* Keeps a node that could change; the first reason remains. */
void tort_convert_keep(tort_converted *c, int32_t node, const char *why);
/* Keeps the nodes of the options; a name that no node has is an error. */
tort_status tort_convert_keep_asked(tort_converted *c);
/* Keeps what would overflow, vanish or count wrongly. */
void tort_convert_keep_unsafe(tort_converted *c);
/* True for a node that moves or selects elements, which rounds nothing that its neighbours do not. */
bool tort_convert_is_move(const char *op);
/* Takes nodes out of `changed` where that saves Casts. */
void tort_convert_grow(tort_converted *c);

#endif
