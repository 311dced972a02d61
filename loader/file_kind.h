/* file_kind.h - recognizes files that are not ONNX models, and says what to do about them. */
#ifndef TORT_LOADER_FILE_KIND_H
#define TORT_LOADER_FILE_KIND_H

#include "loader/source.h"

/* Replaces the error of a file that could not be read as a model, if its first bytes show what it is instead. */
void tort_explain_file(tort_source *source, tort_error *error);

#endif
