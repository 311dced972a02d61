/* loader.c - shared by all files of loader/: texts, errors, the memory limit, the nesting limit. */
#include "loader/loader.h"

#include <string.h>

#define MAX_NESTING 64

const char *tort_domain_of(const char *domain) {
    return domain && strcmp(domain, "ai.onnx") ? domain : "";
}

const char *tort_keep_text(tort_loader *loader, const char *text) {
    return text && *text ? tort_arena_text(&loader->model->arena, text, strlen(text)) : "";
}

const char *tort_keep_once(tort_loader *loader, const char *text) {
    const char *kept = tort_names_key(&loader->kept, text);
    if (kept) return kept;
    kept = tort_keep_text(loader, text);
    return kept && tort_names_add(&loader->kept, kept, 0) ? kept : NULL;
}

tort_status tort_no_memory(tort_loader *loader) {
    return tort_fail(loader->error, TORT_E_MEMORY, "out of memory while loading the model");
}

tort_status tort_over_limit(const tort_source *source, size_t limit, tort_error *error) {
    return tort_fail(
        error, TORT_E_MODEL,
        "loading takes more than %zu MiB of memory, the limit for a file of %llu bytes (%d for each and %zu "
        "MiB): a part of it describes far more than it holds",
        limit >> 20, (unsigned long long)tort_source_size(source), TORT_LOAD_FACTOR, TORT_LOAD_BASE >> 20);
}

void tort_allow_more(tort_loader *loader, size_t bytes) {
    tort_account *account = &loader->model->account;
    size_t limit;
    tort_account_limit(account, tort_add_size(account->limit, bytes, &limit) ? limit : SIZE_MAX);
}

tort_status tort_enter(tort_loader *loader) {
    if (++loader->depth <= MAX_NESTING) return TORT_OK;
    return tort_fail(loader->error, TORT_E_MODEL, "bodies and calls of functions are nested more than %d deep",
                     MAX_NESTING);
}

void tort_leave(tort_loader *loader) {
    loader->depth--;
}
