/* memory.c - memory and text building of the command line; the program ends if memory runs out. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/base/memory.h"

void *cli_check_memory(void *ptr) {
    if (ptr) return ptr;
    fputs("tinyort: out of memory\n", stderr); /* cli_print would allocate */
    exit(CLI_INTERNAL);
}

void *cli_alloc(size_t count, size_t size) {
    return cli_check_memory(calloc(count ? count : 1, size ? size : 1));
}

void *cli_realloc(void *ptr, size_t count, size_t size) {
    size_t bytes;
    return cli_check_memory(tort_mul_size(count, size, &bytes) ? realloc(ptr, bytes ? bytes : 1) : NULL);
}

char *cli_copy_text(const char *text, size_t length) {
    char *copy = cli_alloc(length + 1, 1);
    memcpy(copy, text, length);
    return copy;
}

char *cli_format_list(const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *text = cli_alloc((size_t)length + 1, 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

char *cli_format(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = cli_format_list(format, arguments);
    va_end(arguments);
    return text;
}

void cli_append(char **text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *more = cli_format_list(format, arguments);
    va_end(arguments);
    size_t used = strlen(*text), length = strlen(more);
    *text = cli_realloc(*text, used + length + 1, 1);
    memcpy(*text + used, more, length + 1);
    free(more);
}
