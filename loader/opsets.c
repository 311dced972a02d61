/* opsets.c - what a model, or a function, imports: the version of each domain of operators. */
#include "loader/loader.h"

static tort_opset read_opset(tort_message message) {
    tort_opset opset = {.domain = ""};
    for (tort_field field; tort_next_field(&message, &field);) {
        if (field.number == OPSET_DOMAIN) opset.domain = tort_domain_of(field.text);
        if (field.number == OPSET_VERSION) opset.version = (int64_t)field.integer;
    }
    return opset;
}

static bool is_version(int64_t version) {
    return version >= 1 && version <= INT32_MAX;
}

tort_status tort_load_opsets(tort_loader *loader, tort_message message, uint32_t number, tort_names *opsets) {
    tort_field field;
    for (size_t i = 0; tort_next_of(&message, number, &field); i++) {
        tort_opset opset = read_opset(field.message);
        int32_t known = 0;
        if (!is_version(opset.version) && *opset.domain) continue; /* harmless until a node is of that domain */
        if (!is_version(opset.version))
            return tort_fail(loader->error, TORT_E_MODEL, "opset_import %zu: the main domain has version %lld", i,
                             (long long)opset.version);
        if (!tort_names_find(opsets, opset.domain, &known)) {
            if (!tort_names_add(opsets, opset.domain, (int32_t)opset.version)) return tort_no_memory(loader);
        } else if (known != opset.version) {
            return tort_fail(loader->error, TORT_E_MODEL,
                             "opset_import %zu: domain \"%.100s\" has versions %d and %lld", i, opset.domain, known,
                             (long long)opset.version);
        }
    }
    return TORT_OK;
}

tort_status tort_list_opsets(tort_loader *loader) {
    tort_model *model = loader->model;
    tort_message rest = loader->message;
    model->opsets = tort_arena_array(&model->arena, (size_t)loader->opsets.count, sizeof *model->opsets);
    if (!model->opsets) return tort_no_memory(loader);
    tort_names listed;
    tort_names_init(&listed, loader->env);
    tort_status status = TORT_OK;
    for (tort_field field; !status && tort_next_of(&rest, MODEL_OPSET_IMPORT, &field);) {
        tort_opset opset = read_opset(field.message);
        int32_t number;
        if (!is_version(opset.version) || tort_names_find(&listed, opset.domain, &number)) continue;
        if (!tort_names_add(&listed, opset.domain, model->opset_count)) status = tort_no_memory(loader);
        if (!status) model->opsets[model->opset_count++] = opset;
    }
    tort_names_free(&listed);
    return status;
}
