/* lock.h - where every node of a model runs, as a text file to keep under version control, and what has moved since.
 *
 * A lock holds what was decided, nothing of the machine: for each node of the model its operator, its provider, the
 * family of its kernel and the codes of the refusals that sent it there; no bytes, no instruction set, no names of
 * kernels. So it is the same on every machine where the same providers open, and a diff of it can be read. */
#ifndef TORT_CLI_LOCK_H
#define TORT_CLI_LOCK_H

#include "runtime/cli/json.h"
#include "runtime/cli/options.h"
#include "runtime/core/graph/graph.h"

/* Where a node of the model runs; names are escaped, as they are in the file. */
typedef struct cli_placed {
    char *name;
    const char *op, *provider, *family; /* provider "nowhere": unplaced */
    char *codes;                        /* "cuda:NO_ATTR", or "-" */
    const tort_report_node *node;       /* that it is part of; NULL: read from a file */
    int32_t order;                      /* in the model, or in the file */
} cli_placed;

typedef struct cli_lock {
    char *chain;        /* "cuda,cpu" */
    const char *target; /* of --target, whose device the lock was made for; borrowed; NULL: this machine's */
    cli_placed *nodes;  /* by name */
    int32_t count;
    char *text; /* the file, which the nodes point into; NULL: they point into a report */
} cli_lock;

/* The lock of a report, which must outlive it. The caller frees. */
cli_lock cli_lock_of(const tort_report *report, const char *target);
void cli_lock_free(cli_lock *lock);
/* The node of the report that the model's node with this path, or this node, is or is part of; NULL: none. */
const tort_report_node *cli_placed_at(const cli_lock *lock, const char *path);
const tort_report_node *cli_placed_node(const cli_lock *lock, const tort_graph *graph, const tort_node *node);
tort_status cli_lock_write(const cli_lock *lock, const char *path, tort_error *error);
/* TORT_E_INPUT with the line if the file is no lock. The caller frees, after a failure too. */
tort_status cli_lock_read(const char *path, cli_lock *lock, tort_error *error);

/* A node that is not where the lock has it, is not in the lock (`was` is NULL), or no more in the model (`is`). */
typedef struct cli_move {
    const cli_placed *was, *is;
    bool failed; /* it moved; or it is new, and on another provider than the first that opened, or on none */
    char *why;
} cli_move;

enum { CLI_MAX_GONE = 1000 };

typedef struct cli_moves {
    cli_move *list;
    int32_t count;
    int32_t nodes, moved, added, gone, failed; /* nodes: of the model; gone: the first CLI_MAX_GONE are listed */
} cli_moves;

/* Lists the nodes that moved from `locked` to `now`, the lock of `report`; both must outlive it. The caller frees. */
cli_moves cli_moves_of(const cli_lock *locked, const cli_lock *now, const tort_report *report);
void cli_moves_free(cli_moves *moves);

/* Prints the moves on stdout, those of one reason together: as text, or as --github. */
void cli_moves_print(const cli_options *options, const cli_moves *moves);
cJSON *cli_moves_json(const cli_options *options, const cli_moves *moves);
/* TORT_E_PLACEMENT if a move is a failure. */
tort_status cli_moves_status(const cli_options *options, const cli_moves *moves, tort_error *error);

#endif
