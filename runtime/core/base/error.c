/* error.c - fills the caller's tort_error; a message that is too long is truncated. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/core/base/error.h"
#include "runtime/core/base/locale.h"

#ifdef TORT_NO_MESSAGES
tort_status tort_fail_without_words(tort_error *error, tort_status code) {
    if (!error) return code;
    error->code = code;
    error->node = -1;
    error->provider = NULL;
    error->msg[0] = '\0';
    return code;
}
#endif

/* The parentheses keep the names from being macros: a provider outside of this tree calls the function. */
tort_status(tort_fail)(tort_error *error, tort_status code, const char *format, ...) {
    if (!error) return code;
    error->code = code;
    error->node = -1;
    error->provider = NULL;
    va_list arguments;
    va_start(arguments, format);
    tort_vsnprintf(error->msg, sizeof error->msg, format, arguments);
    va_end(arguments);
    return code;
}

tort_status(tort_out_of_memory)(tort_error *error, size_t bytes) {
    return tort_fail(error, TORT_E_MEMORY, "out of memory: an allocation of %zu bytes failed", bytes);
}

void(tort_error_prefix)(tort_error *error, const char *format, ...) {
    if (!error) return;
    char text[sizeof error->msg];
    va_list arguments;
    va_start(arguments, format);
    tort_vsnprintf(text, sizeof text - 2, format, arguments);
    va_end(arguments);
    strcat(text, ": ");
    size_t used = strlen(text), rest = strlen(error->msg);
    if (rest > sizeof text - 1 - used) rest = sizeof text - 1 - used;
    memcpy(text + used, error->msg, rest);
    text[used + rest] = 0;
    memcpy(error->msg, text, used + rest + 1);
}

void(tort_error_append)(tort_error *error, const char *format, ...) {
    if (!error) return;
    const size_t used = strlen(error->msg);
    va_list arguments;
    va_start(arguments, format);
    tort_vsnprintf(error->msg + used, sizeof error->msg - used, format, arguments);
    va_end(arguments);
}
