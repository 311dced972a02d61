/* text.c - memory for the bytes of strings that operators make (text.h). */
#include "runtime/core/graph/text.h"

#include "runtime/include/op.h"

#include <string.h>

struct tort_text {
    tort_env env;
    tort_arena arena;
};

struct tort_text *tort_text_new(const tort_env *env) {
    struct tort_text *text = tort_alloc_zero(env, 1, sizeof *text);
    if (!text) return NULL;
    text->env = *env;
    tort_arena_init(&text->arena, &text->env);
    return text;
}

size_t tort_text_bytes(void) {
    return sizeof(struct tort_text);
}

void tort_text_clear(struct tort_text *text) {
    tort_arena_free(&text->arena);
    tort_arena_init(&text->arena, &text->env);
}

void tort_text_free(struct tort_text *text) {
    if (!text) return;
    tort_arena_free(&text->arena);
    tort_env env = text->env;
    tort_free(&env, text, sizeof *text);
}

char *tort_call_text(const tort_call *call, size_t length) {
    return call->text ? tort_arena_alloc(&call->text->arena, length ? length : 1) : NULL;
}

tort_status tort_call_copy_text(const tort_call *call, tort_string text, tort_string *out) {
    char *copy = tort_call_text(call, text.length);
    if (!copy) return tort_out_of_memory(call->error, text.length);
    if (text.length) memcpy(copy, text.data, text.length);
    *out = (tort_string){copy, text.length};
    return TORT_OK;
}
