/* open_model.c - opens a model: the program has the loader and all passes. */
#include "tests/builds/open.h"

tort_status open_session(const char *path, tort_model **model, tort_session **session, tort_error *error) {
    tort_status status = tort_model_load(NULL, path, NULL, model, error);
    return status ? status : tort_session_create(NULL, *model, NULL, session, error);
}
