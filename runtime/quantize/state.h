/* state.h - what the steps of tort_quantize share. Private to this folder. */
#ifndef TORT_QUANTIZE_STATE_H
#define TORT_QUANTIZE_STATE_H

#include "runtime/export/message.h"
#include "runtime/export/optimized.h"
#include "runtime/quantize/trial.h"
#include "runtime/quantize/write.h"

/* Ranges of some samples, and those that judge them. */
typedef struct tort_fold {
    int32_t *made_of, *judges;
    int32_t made_count, judge_count;
    tort_ranges ranges;         /* of made_of */
    tort_range *chosen;         /* by value: by the best rule */
    const double *const *shift; /* by node: by the best rule; NULL: biases are not corrected */
} tort_fold;

struct tort_quantized {
    tort_env env;
    tort_maker maker;      /* of what lives until the end */
    tort_maker scratch;    /* of the message that is written */
    jmp_buf out_of_memory; /* where both go on: all there is to free hangs on this struct */
    const tort_model *model;
    const tort_quantize_options *options;
    tort_error *error;
    tort_optimized *base; /* the model folded: its message is the net's */
    tort_net net;
    tort_rules rules;
    tort_judge judge;
    int32_t *behind;    /* judge.smooth_count values behind the outputs, as smooth numbers them from output_count on */
    tort_trial trial;   /* the one that is open */
    tort_fold folds[2]; /* each half of the samples makes ranges, which the other one judges */
    int32_t fold_count; /* 1 for a single sample, which does both */
    tort_weight_cache weights; /* of the nodes that were written last */
    tort_maker rounded;        /* weights.maker */
    tort_range_rule rule;      /* the best */
    bool margin;
    bool corrected; /* biases */
    int64_t opset;
    TortOnnx__ModelProto *proto; /* the result */
    tort_quantized_report report;
};

/* Tells the application what is being done. TORT_E_CANCELLED: it has had enough. */
tort_status tort_quantize_tell(tort_quantized *q, const char *phase, int32_t done, int32_t of);
tort_status tort_quantize_cut(tort_quantized *q, tort_ranges *ranges); /* cuts.c: fills ranges->cuts */
/* Opens q->trial for a message; each: without fusions, so that all values are observed. Closes it, and empties
 * q->scratch. */
tort_status tort_quantize_open(tort_quantized *q, const TortOnnx__ModelProto *proto, bool each);
void tort_quantize_close(tort_quantized *q);
/* Judges nodes in bytes, with these ranges, by the judges of a fold, max of them. */
tort_status tort_quantize_judge(tort_quantized *q, const tort_fold *fold, const bool *bytes, const tort_range *ranges,
                                const double *const *shift, int32_t max, tort_judgement *judgement);

/* True if the options keep a node in float32. */
bool tort_quantize_is_kept(const tort_quantized *q, int32_t node);
uint64_t tort_quantize_bytes(tort_quantized *q, const bool *bytes); /* of the message with these nodes in bytes */

tort_status tort_quantize_calibrate(tort_quantized *q); /* calibrate.c: statistics, and wanted outputs */
tort_status tort_quantize_choose(tort_quantized *q, const bool *bytes); /* choose.c: rule, margin, shift */
/* choose.c: what biases lack with these ranges; *shift by node. */
tort_status tort_quantize_correct(tort_quantized *q, const bool *bytes, const tort_range *ranges,
                                  const int32_t *samples, int32_t count, const double *const **shift);
/* sensitivity.c: what each unit alone costs; then which of them stay float32, which are taken out of bytes. */
tort_status tort_quantize_keep(tort_quantized *q, bool *bytes);

tort_status tort_quantize_blocks(tort_quantized *q);  /* blocks.c: the whole of weight_bits */
tort_status tort_quantize_dynamic(tort_quantized *q); /* dynamic.c: the whole of dynamic */
/* blocks.c: a report of the matrices that MatMul and Gemm multiply by, and by node whether it has one. There must be
 * one. */
tort_status tort_quantize_list_matrices(tort_quantized *q, bool *has);

#endif
