/* captured.h - copies of the values of a run of a model's main graph, by name: the inputs of its pieces. */
#ifndef TORT_CLI_CAPTURED_H
#define TORT_CLI_CAPTURED_H

#include "runtime/cli/inputs.h"
#include "runtime/cli/piece.h"

typedef struct cli_captured {
    const tort_model *model;
    tort_env env; /* of the table */
    tort_names names;
    char **keys;
    tort_tensor *tensors; /* owned */
    int32_t count;
    cli_inputs inputs;
    tort_session *session; /* of the run, for its placement */
} cli_captured;

/* Runs the model once, unfolded, on a chain, with the inputs that the options give, and keeps its inputs and the
 * tensors that nodes of the main graph make. The caller frees, also after a failure. */
tort_status cli_capture(cli_options *options, const tort_model *model, const char *chain, cli_captured *captured,
                        tort_error *error);
void cli_captured_free(cli_captured *captured);
/* NULL: the value was not seen, or is no tensor. */
const tort_tensor *cli_captured_at(const cli_captured *captured, const char *value);

/* Writes a piece as a model, and to test_data_set_0 beside it the captured values of its inputs and outputs. */
tort_status cli_piece_write(const char *path, const cli_message *piece, const cli_piece_port *inputs,
                            int32_t input_count, const cli_piece_port *outputs, int32_t output_count,
                            tort_error *error);
/* Checks that the files can be written. */
tort_status cli_piece_check(const char *path, const tort_model *model, tort_error *error);

#endif
