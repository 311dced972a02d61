/* piece.h - a part of a model's main graph as a model of its own, made from the bytes of its file.
 *
 * Nodes, initializers and all that belongs to the model as a whole (opsets, functions) are copied as they are, but for
 * weights of other files, which become part of it; the values that come from outside become inputs. */
#ifndef TORT_CLI_PIECE_H
#define TORT_CLI_PIECE_H

#include "runtime/core/base/names.h"
#include "runtime/cli/files/fields.h"

typedef struct cli_whole_node {
    cli_field field;
    char **inputs, **outputs; /* names; inputs also those that its bodies read from around it. "" where absent */
    int32_t input_count, output_count;
} cli_whole_node;

/* A model's file, taken apart. */
typedef struct cli_whole {
    uint8_t *bytes;
    size_t size;
    cli_whole_node *nodes; /* in the order of the file */
    int32_t count;
    cli_field *initializers;
    char **initializer_names;
    bool *external; /* by initializer: its bytes are in another file */
    int32_t initializer_count;
    char **outputs; /* of the model */
    int32_t output_count;
    tort_env env;    /* of the tables of names */
    tort_names made; /* values by name: the node that makes them */
    tort_names held; /* initializers by name */
} cli_whole;

/* Reads a file and takes it apart. TORT_E_MODEL if its nodes are not in topological order. The caller frees, also after
 * a failure. */
tort_status cli_whole_open(const char *path, cli_whole *whole, tort_error *error);
void cli_whole_free(cli_whole *whole);
/* The node that makes a value; -1: none does. */
int32_t cli_whole_maker(const cli_whole *whole, const char *value);
bool cli_whole_holds(const cli_whole *whole, const char *value); /* it is an initializer */

/* An input or output of a piece, with the type and shape of this tensor; NULL: the name alone. */
typedef struct cli_piece_port {
    const char *name;
    const tort_tensor *tensor;
} cli_piece_port;

/* Makes the model of the nodes that are kept; model: the loaded one, which has the weights of other files (NULL: they
 * stay there). Fails where one cannot be read. */
tort_status cli_piece_make(const cli_whole *whole, const tort_model *model, const bool *keep,
                           const cli_piece_port *inputs, int32_t input_count, const cli_piece_port *outputs,
                           int32_t output_count, cli_message *out, tort_error *error);

#endif
