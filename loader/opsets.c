/* opsets.c - the imports of a model, or of a function: a version for each domain of operators. */
#include "loader/loader.h"

static bool is_version(int64_t version) {
    return version >= 1 && version <= INT32_MAX;
}

tort_status tort_load_opsets(tort_loader *loader, TortOnnx__OperatorSetIdProto *const *imports, size_t count,
                             tort_names *opsets) {
    for (size_t i = 0; i < count; i++) {
        const char *domain = tort_domain_of(imports[i]->domain);
        const int64_t version = imports[i]->version;
        int32_t known = 0;
        if (!is_version(version) && *domain) continue; /* harmless until a node is of that domain */
        if (!is_version(version))
            return tort_fail(loader->error, TORT_E_MODEL, "opset_import %zu: the main domain has version %lld", i,
                             (long long)version);
        if (!tort_names_find(opsets, domain, &known)) {
            if (!tort_names_add(opsets, domain, (int32_t)version)) return tort_no_memory(loader);
        } else if (known != version) {
            return tort_fail(loader->error, TORT_E_MODEL,
                             "opset_import %zu: domain \"%.100s\" has versions %d and %lld", i, domain, known,
                             (long long)version);
        }
    }
    return TORT_OK;
}

tort_status tort_list_opsets(tort_loader *loader) {
    tort_model *model = loader->model;
    const TortOnnx__ModelProto *proto = loader->proto;
    model->opsets = tort_arena_array(&model->arena, (size_t)loader->opsets.count, sizeof *model->opsets);
    if (!model->opsets) return tort_no_memory(loader);
    tort_names listed;
    tort_names_init(&listed, loader->env);
    tort_status status = TORT_OK;
    for (size_t i = 0; !status && i < proto->n_opset_import; i++) {
        const char *domain = tort_domain_of(proto->opset_import[i]->domain);
        const int64_t version = proto->opset_import[i]->version;
        int32_t number;
        if (!is_version(version) || tort_names_find(&listed, domain, &number)) continue;
        const char *kept = tort_keep_once(loader, domain);
        if (!kept || !tort_names_add(&listed, kept, model->opset_count)) status = tort_no_memory(loader);
        if (!status) model->opsets[model->opset_count++] = (tort_opset){kept, version};
    }
    tort_names_free(&listed);
    return status;
}
