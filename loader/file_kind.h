/* file_kind.h - says what a file that is no model looks like, and what to do about it. */
#ifndef TORT_LOADER_FILE_KIND_H
#define TORT_LOADER_FILE_KIND_H

#include "loader/source.h"

/* For a file that could not be read as a model: where its first bytes tell what it is instead, the error says that. */
void tort_explain_file(tort_source *source, tort_error *error);

#endif
