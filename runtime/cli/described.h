/* described.h - what a node is: operands with types and shapes, attributes, ranges of constants (tinyort_report.h). */
#ifndef TORT_CLI_DESCRIBED_H
#define TORT_CLI_DESCRIBED_H

#include "runtime/cli/json.h"
#include "runtime/cli/table.h"
#include "runtime/include/tinyort_report.h"

/* Prints it in rows below the node's, which has a number in its first cell. */
void cli_describe(tort_session *session, int32_t node, cli_table *table);
/* Adds "inputs", "outputs" and "attributes" to the node's object. */
void cli_describe_json(tort_session *session, int32_t node, cJSON *object);

#endif
