/* annotate.h - writes a copy of a model whose nodes say where they run. */
#ifndef TORT_CLI_ANNOTATE_H
#define TORT_CLI_ANNOTATE_H

#include "runtime/include/tinyort.h"

/* Writes the file of `model` to `to`, with metadata_props of each node from the report: tinyort.provider,
 * tinyort.kernel and, where a better place refused it, tinyort.why; those that it has are replaced. External data is
 * not copied: the new file refers to it by the same relative paths. TORT_E_INPUT if the file is not the one that was
 * loaded. */
tort_status cli_annotate(const char *from, const char *to, const tort_model *model, const tort_report *report,
                         tort_error *error);

#endif
