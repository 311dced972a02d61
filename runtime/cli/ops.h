/* ops.h - shared by the files of `tinyort ops`: operator rows of this build, and what its providers have for them.
 *
 * Only data in rows is shown. The types, attributes and shapes that a kernel takes are decided by code (its claim);
 * `tinyort plan` shows the decision for a node. */
#ifndef TORT_CLI_OPS_H
#define TORT_CLI_OPS_H

#include "runtime/cli/cli.h"
#include "runtime/core/graph/check.h"
#include "runtime/include/provider.h"

enum { CLI_MAX_PROVIDERS = 16 };

typedef struct cli_ops_rows {
    tort_op_table table;
    const tort_provider *providers[CLI_MAX_PROVIDERS]; /* to be listed */
    int32_t provider_count;
} cli_ops_rows;

/* Rows of one operator, the oldest version first. */
typedef struct cli_operator {
    const tort_op *const *rows;
    int32_t count;
} cli_operator;

/* Advances to the next operator, from {0} to the first; false after the last. */
bool cli_operator_next(const cli_ops_rows *ops, cli_operator *op);
const char *cli_domain_name(const char *domain); /* "ai.onnx" for "" */
/* True if the word names the operator: "Gelu", "com.microsoft.Gelu" or "com.microsoft::Gelu". */
bool cli_is_meant(const char *domain, const char *name, const char *word);

/* Sorts rows by domain, name and version, so that the command line's own operators stand among the library's. */
void cli_sort_operators(cli_ops_rows *ops);
/* The refusal after `before` (NULL: the first) without those of operators that have rows; NULL after the last. */
const tort_refusal *cli_refusal_next(const cli_ops_rows *ops, const tort_refusal *before);

/* Ways in which a provider serves an operator. */
typedef enum cli_service {
    CLI_SERVICE_NONE,
    CLI_SERVICE_PLAIN,  /* runs the operator's plain loop */
    CLI_SERVICE_OWN,    /* runs its own kernels, for nodes that they claim */
    CLI_SERVICE_HOST,   /* need not: the executor does it, whatever the providers */
    CLI_SERVICE_FOLDED, /* need not: folded to a constant while planning */
} cli_service;

cli_service cli_service_of(const tort_provider *provider, const cli_operator *op);
/* True if the provider also runs the operator's plain loop, for nodes that its kernels refuse. */
bool cli_has_loop(const tort_provider *provider, const cli_operator *op);
/* The provider's kernel row for the operator after `before` (NULL: the first); NULL after the last. */
const tort_kernel *cli_kernel_next(const tort_provider *provider, const cli_operator *op, const tort_kernel *before);

/* A set of types in words: "floats, int32", "all but string", "sequences of any"; the caller frees. */
char *cli_types_text(const tort_type_set *set);
extern const char cli_types_legend[]; /* explains these words */

/* The types that a formal of a row takes; empty if the row is malformed. */
tort_type_set cli_formal_types(const tort_formal *formal, const char *types);

void cli_ops_json(const cli_ops_rows *ops, const char *word,
                  cJSON *root); /* word: as in cli_is_meant; NULL: all operators */
/* missing: lists only operators that no provider serves. */
void cli_ops_table(const cli_ops_rows *ops, bool missing, int width);
void cli_ops_page(const cli_ops_rows *ops, const cli_operator *op, int width);

#endif
