/* state.h - what the steps of tort_quantize share. Private to this folder. */
#ifndef TORT_QUANTIZE_STATE_H
#define TORT_QUANTIZE_STATE_H

#include "runtime/export/optimized.h"
#include "runtime/quantize/trial.h"
#include "runtime/quantize/write.h"

struct tort_quantized {
    tort_env env;
    tort_maker maker;      /* of what lives until the end */
    tort_maker scratch;    /* of the message that is written */
    jmp_buf out_of_memory; /* where both go on: all there is to free hangs on this struct */
    const tort_model *model;
    const tort_quantize_options *options;
    tort_error *error;
    tort_trial raised;    /* a model of an old opset as one of 13 */
    tort_optimized *base; /* the model folded: its message is the net's */
    tort_net net;
    tort_rules rules;
    tort_judge judge;
    tort_trial trial;            /* the one that is open */
    int32_t *made_of, *held_out; /* samples that ranges are made of, and those that judge them */
    int32_t made_count, held_count;
    tort_ranges ranges;       /* of made_of; at the end of all samples */
    tort_statistics **unseen; /* by value: of held_out */
    tort_weight_cache weights;
    tort_range_rule rule; /* the best */
    bool margin;
    const double *const *shift; /* by node; NULL: biases are not corrected */
    tort_range *chosen;         /* by value: by the best rule */
    int64_t opset;
    TortOnnx__ModelProto *proto; /* the result */
    tort_quantized_report report;
};

/* Tells the application what is being done. TORT_E_CANCELLED: it has had enough. */
tort_status tort_quantize_tell(tort_quantized *q, const char *phase, int32_t done, int32_t of);
tort_status tort_quantize_cut(tort_quantized *q); /* cuts.c: fills q->ranges.cuts */
/* Opens q->trial for a message in q->scratch, which is emptied. */
tort_status tort_quantize_open(tort_quantized *q, const TortOnnx__ModelProto *proto, bool unfolded);
/* Judges nodes in bytes on held-out samples, max of them. */
tort_status tort_quantize_judge(tort_quantized *q, const bool *bytes, const tort_range *ranges,
                                const double *const *shift, int32_t max, tort_judgement *judgement, uint64_t *size);

tort_status tort_quantize_calibrate(tort_quantized *q); /* calibrate.c: statistics, and wanted outputs */
tort_status tort_quantize_choose(tort_quantized *q, const bool *bytes); /* choose.c: rule, margin, shift */
/* choose.c: what biases lack with these ranges; *shift by node. */
tort_status tort_quantize_correct(tort_quantized *q, const bool *bytes, const tort_range *ranges,
                                  const int32_t *samples, int32_t count, const double *const **shift);
/* sensitivity.c: what each unit alone costs; then which of them stay float32, which are taken out of bytes. */
tort_status tort_quantize_keep(tort_quantized *q, bool *bytes);

#endif
