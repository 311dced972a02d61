/* value_text.c - see value_text.h. */
#include "tests/value_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/numeric.h"
#include "runtime/include/op.h"
#include "runtime/core/base/locale.h"

static void add(char *text, const char *format, ...) {
    const size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    tort_vsnprintf(text + used, VALUE_TEXT - used, format, arguments);
    va_end(arguments);
}

static void add_element(char *text, const tort_tensor *tensor, int64_t i) {
    if (tensor->type == TORT_STRING) {
        const tort_string *string = (const tort_string *)tensor->data + i;
        add(text, "%.*s", (int)string->length, string->data);
        return;
    }
    double number;
    tort_load_doubles(tensor->type, tensor->data, i, 1, &number);
    add(text, "%g", number);
}

static void add_tensor(char *text, const tort_tensor *tensor) {
    add(text, "%s[", tort_type_name(tensor->type));
    for (int32_t d = 0; d < tensor->rank; d++) add(text, "%s%lld", d ? "," : "", (long long)tensor->dims[d]);
    add(text, "]");
    for (int64_t i = 0; i < tort_count(tensor); i++) {
        add(text, " ");
        add_element(text, tensor, i);
    }
}

static void add_value(char *text, const tort_value *value) {
    char type[80];
    if (tort_value_view(value)) {
        add_tensor(text, tort_value_view(value));
        return;
    }
    const bool none = tort_value_kind(value) == TORT_OPTIONAL && tort_value_count(value) == 0;
    add(text, "%s:%s", tort_type_text(tort_value_type_of(value), type, sizeof type), none ? " none" : "");
    for (int32_t i = 0; i < tort_value_count(value); i++) {
        add(text, "%s", i ? ", " : " ");
        if (tort_value_keys(value)) add_element(text, tort_value_keys(value), i);
        if (tort_value_keys(value)) add(text, " = ");
        add_value(text, tort_value_at(value, i));
    }
}

const char *value_text(const tort_value *value, char text[VALUE_TEXT]) {
    text[0] = '\0';
    if (value)
        add_value(text, value);
    else
        add(text, "nothing");
    return text;
}

tort_value *value_counting(const tort_env *env, tort_type type, const char *dims, int64_t first) {
    tort_tensor shape = {.type = type};
    for (const char *at = dims; *at; at += *at == ',') shape.dims[shape.rank++] = strtoll(at, (char **)&at, 10);
    tort_value *value = tort_value_new(env, &shape);
    char words[100][8];
    for (int64_t i = 0; value && i < tort_count(&shape); i++) {
        if (type == TORT_STRING) {
            const int length = snprintf(words[i % 100], sizeof words[0], "s%d", (int)(first + i) % 1000);
            ((tort_string *)tort_value_data(value))[i] = (tort_string){words[i % 100], (size_t)length};
            continue;
        }
        const int64_t number = first + i;
        tort_store_integers(type, tort_value_data(value), i, 1, &number);
    }
    if (!value || tort_value_own_text(value)) return value;
    tort_value_release(value);
    return NULL;
}
