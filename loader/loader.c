/* loader.c - what all files of loader/ ask of the loading itself: an error, more memory, one level deeper. */
#include "loader/loader.h"

#include <string.h>

#define DEEPEST_NESTING 64

const char *tort_domain_of(const char *domain) {
    return strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

tort_status tort_no_memory(tort_loader *loader) {
    return tort_fail(loader->error, TORT_E_MEMORY, "out of memory while loading the model");
}

void tort_allow_more(tort_loader *loader, size_t bytes) {
    tort_account *account = &loader->model->account;
    size_t limit;
    tort_account_limit(account, tort_add_size(account->limit, bytes, &limit) ? limit : SIZE_MAX);
}

tort_status tort_enter(tort_loader *loader) {
    if (++loader->depth <= DEEPEST_NESTING) return TORT_OK;
    return tort_fail(loader->error, TORT_E_MODEL, "bodies and calls of functions are nested more than %d deep",
                     DEEPEST_NESTING);
}

void tort_leave(tort_loader *loader) {
    loader->depth--;
}
