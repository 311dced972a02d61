/* file_kind.h - says what a file that is no model looks like, and what to do about it. */
#ifndef TORT_LOADER_FILE_KIND_H
#define TORT_LOADER_FILE_KIND_H

#include "loader/source.h"

/* Refuses what cannot be a model by its first bytes; whatever else is wrong the loader finds. */
tort_status tort_recognize_file(tort_source *source, tort_error *error);

#endif
