/* ops.h - what the files of `tinyort ops` share: the operator rows of this build, and what its providers have for them.
 *
 * Only what rows say as data is told. Which types, attributes and shapes a kernel takes is code (its claim): of a node
 * it is told by `tinyort plan`. */
#ifndef TORT_CLI_OPS_H
#define TORT_CLI_OPS_H

#include "runtime/cli/cli.h"
#include "runtime/graph/check.h"
#include "runtime/provider.h"

enum { CLI_MAX_PROVIDERS = 16 };

typedef struct cli_ops_rows {
    tort_op_table table;
    const tort_provider *providers[CLI_MAX_PROVIDERS]; /* that are told of */
    int32_t provider_count;
} cli_ops_rows;

/* An operator: its rows, the oldest first. */
typedef struct cli_operator {
    const tort_op *const *rows;
    int32_t count;
} cli_operator;

/* The operator behind this one, at first behind {0}; false: that was the last. */
bool cli_operator_next(const cli_ops_rows *ops, cli_operator *op);
const char *cli_domain_name(const char *domain); /* "ai.onnx" for "" */
/* Is it meant by "Gelu", "com.microsoft.Gelu" or "com.microsoft::Gelu"? */
bool cli_is_meant(const char *domain, const char *name, const char *word);

/* In the order of domains and names, those that the command line brings among those of the library. */
void cli_sort_operators(cli_ops_rows *ops);
/* The next refusal behind this one, at first behind NULL, of what no row is for; NULL: that was the last. */
const tort_refusal *cli_refusal_next(const cli_ops_rows *ops, const tort_refusal *before);

/* How a provider serves an operator. */
typedef enum cli_service {
    CLI_SERVICE_NONE,
    CLI_SERVICE_PLAIN,  /* by the operator's plain loop */
    CLI_SERVICE_OWN,    /* by kernels of its own, for what they claim */
    CLI_SERVICE_HOST,   /* it need not: a step of the executor, wherever providers are */
    CLI_SERVICE_FOLDED, /* nor here: a constant */
} cli_service;

cli_service cli_service_of(const tort_provider *provider, const cli_operator *op);
/* Has it the plain loop too, for what its kernels refuse? */
bool cli_has_loop(const tort_provider *provider, const cli_operator *op);
/* The provider's next kernel row for an operator behind this one, at first behind NULL; NULL: there is none. */
const tort_kernel *cli_kernel_next(const tort_provider *provider, const cli_operator *op, const tort_kernel *before);

/* A set of types as people say it: "floats, int32", "all but string", "sequences of any"; the caller frees. */
char *cli_types_text(const tort_type_set *set);
extern const char cli_types_legend[]; /* what those words mean */

/* The formal of a row as one set of types, empty where the row is malformed. */
tort_type_set cli_formal_types(const tort_formal *formal, const char *types);

void cli_ops_json(const cli_ops_rows *ops, const char *word,
                  cJSON *root); /* of the operators that are meant; NULL: all */
/* missing: those alone that none of the providers has. */
void cli_ops_table(const cli_ops_rows *ops, bool missing, int width);
void cli_ops_page(const cli_ops_rows *ops, const cli_operator *op, int width);

#endif
