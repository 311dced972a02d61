/* opsets.c - the imports of a model, or of a function: a version for each domain of operators. */
#include "loader/loader.h"

static bool is_version(int64_t version) {
    return version >= 1 && version <= INT32_MAX;
}

tort_status tort_load_opsets(tort_loader *loader, TortOnnx__OperatorSetIdProto *const *imports, size_t count,
                             tort_names *opsets) {
    tort_model *model = opsets == &loader->opsets ? loader->model : NULL;
    if (model) model->opsets = tort_arena_array(&model->arena, count, sizeof *model->opsets);
    if (model && !model->opsets) return tort_no_memory(loader);
    for (size_t i = 0; i < count; i++) {
        const char *domain = tort_domain_of(imports[i]->domain);
        const int64_t version = imports[i]->version;
        int32_t known = 0;
        if (!is_version(version) && *domain) continue; /* harmless until a node is of that domain */
        if (!is_version(version))
            return tort_fail(loader->error, TORT_E_MODEL, "opset_import %zu: the main domain has version %lld", i,
                             (long long)version);
        if (!tort_names_find(opsets, domain, &known)) {
            domain = tort_keep_once(loader, domain);
            if (!domain || !tort_names_add(opsets, domain, (int32_t)version)) return tort_no_memory(loader);
            if (model) model->opsets[model->opset_count++] = (tort_opset){domain, version};
        } else if (known != version) {
            return tort_fail(loader->error, TORT_E_MODEL,
                             "opset_import %zu: domain \"%.100s\" has versions %d and %lld", i, domain, known,
                             (long long)version);
        }
    }
    return TORT_OK;
}
