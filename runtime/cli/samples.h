/* samples.h - the inputs of many runs, from a folder: what --data names. */
#ifndef TORT_CLI_SAMPLES_H
#define TORT_CLI_SAMPLES_H

#include "runtime/cli/inputs.h"
#include "runtime/quantize/quantize.h"

typedef struct cli_samples {
    const cli_options *options;
    const tort_model *model;
    struct cli_sample *list;
    cli_inputs *stacks; /* files that hold several samples, read whole */
    cli_inputs current; /* of a sample that is read anew each time */
    size_t held;        /* bytes of the samples that stay in memory */
    int32_t count, stack_count;
} cli_samples;

/* Lists the samples of --data in the order of their names. A sample is a file for a model of one input, an .npz with an
 * array for each input, or a folder as --input takes it; an .npy or .npz with one more dimension in front, or more than
 * the 1 that the model has there, holds several. The caller frees, also after a failure. */
tort_status cli_samples_open(const cli_options *options, const tort_model *model, cli_samples *samples,
                             tort_error *error);
/* tort_samples.read, with the samples as ud. */
tort_status cli_samples_read(void *ud, int32_t index, tort_tensor *inputs, tort_error *error);
/* Progress of the work on samples, for the options of tort_quantize and tort_convert. */
bool cli_samples_tell(void *ud, const char *phase, int32_t done, int32_t of);
void cli_samples_free(cli_samples *samples);

#endif
