/* trial.h - runs a message on samples, and tells how far its outputs are from those of float32. */
#ifndef TORT_QUANTIZE_TRIAL_H
#define TORT_QUANTIZE_TRIAL_H

#include "runtime/quantize/net.h"
#include "runtime/quantize/quantize.h"

/* A message in memory and a session of it. The message is not put together: the loader reads large pieces, which are
 * weights, where they lie. */
typedef struct tort_trial {
    size_t size;
    struct tort_piece *pieces;
    uint8_t *copies; /* of small pieces */
    int32_t piece_count, piece_capacity, copy_count, copy_capacity;
    tort_model *model;
    tort_session *session;
    tort_context *context;
} tort_trial;

/* Finds the types and shapes of a net's values, as the loader infers them. */
tort_status tort_trial_types(tort_net *net, tort_error *error);
/* Opens a message, whose tensors must stay until the trial is closed. The caller closes it, also after a failure, and
 * does not move it meanwhile. */
tort_status tort_trial_open(tort_trial *trial, const TortOnnx__ModelProto *proto, const tort_session_options *options,
                            tort_error *error);
void tort_trial_close(tort_trial *trial);

/* The outputs of the float32 model for one sample. */
typedef struct tort_wanted {
    tort_tensor *outputs; /* float32, or of another type; owned by the maker */
} tort_wanted;

/* Samples and wanted outputs, which all trials of a model share. */
typedef struct tort_judge {
    const tort_samples *samples;
    const tort_wanted *wanted; /* by sample */
    const int64_t *truth;      /* by sample; NULL: none */
    int32_t input_count, output_count;
    int32_t *smooth;      /* by output: the output, or value behind them, that is judged in its place for a choice */
    int32_t smooth_count; /* values behind the outputs */
    tort_tensor *inputs;  /* room for a sample's */
} tort_judge;

typedef struct tort_judgement {
    double score;     /* the same as db, but of smooth values: what a Softmax takes, in place of what it makes */
    double db;        /* mean over the outputs of 10 log10(power of the signal / power of the error); 120 at most */
    double worst;     /* the minimum in place of the mean, of outputs that are not all 0 */
    double agreement; /* share of equal decisions: rows of the first output with the same largest element */
} tort_judgement;

/* Runs a trial on one sample. outputs: filled with memory of the context. */
tort_status tort_trial_run(const tort_judge *judge, tort_trial *trial, int32_t sample, tort_tensor *outputs,
                           tort_error *error);
/* Runs a trial on `count` samples, the first ones if there is no list, and compares. */
tort_status tort_trial_judge(const tort_judge *judge, tort_trial *trial, const int32_t *samples, int32_t count,
                             tort_judgement *judgement, tort_maker *maker, tort_error *error);
/* The share of decisions of the float32 model that are right, of samples whose outputs are kept. */
double tort_judge_float(const tort_judge *judge);

#endif
