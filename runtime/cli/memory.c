/* memory.c - memory and text building of the command line; the program ends if memory runs out. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "runtime/cli/cli.h"
#include "runtime/core/base/memory.h"
#include "runtime/core/base/locale.h"

/* The command whose document goes to stdout; NULL: none. */
static const char *json_command;

void cli_memory_json(const char *command) {
    json_command = command;
}

/* Memory has run out, so nothing here allocates: cli_print and cJSON would. */
static void end_without_memory(size_t bytes) {
    char text[100] = "out of memory";
    if (bytes) snprintf(text, sizeof text, "out of memory: %zu bytes were needed", bytes);
    if (json_command)
        printf("{\"schema\":1,\"command\":\"%s\",\"error\":{\"code\":\"TORT_E_MEMORY\",\"exit\":%d,\"message\":\"%s\","
               "\"node\":null,\"provider\":null,\"cure\":\"give the process more memory\"}}\n",
               json_command, CLI_REFUSED, text);
    fflush(stdout);
    fprintf(stderr, "tinyort: %s\n", text);
    exit(CLI_REFUSED);
}

void cli_memory_returns(void) {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 2 << 20); /* left alone, it grows with what is freed, and large blocks stay in the heap */
#endif
}

static void *check(void *ptr, size_t bytes) {
    if (!ptr) end_without_memory(bytes);
    return ptr;
}

void *cli_check_memory(void *ptr) {
    return check(ptr, 0);
}

void *cli_alloc(size_t count, size_t size) {
    size_t bytes;
    return check(calloc(count ? count : 1, size ? size : 1), tort_mul_size(count, size, &bytes) ? bytes : SIZE_MAX);
}

void *cli_realloc(void *ptr, size_t count, size_t size) {
    size_t bytes;
    if (!tort_mul_size(count, size, &bytes)) end_without_memory(SIZE_MAX);
    return check(realloc(ptr, bytes ? bytes : 1), bytes);
}

void *cli_room(void *list, size_t count, size_t size) {
    const bool full = (count & (count - 1)) == 0;
    return full ? cli_realloc(list, 2 * count + 1, size) : list;
}

char *cli_copy_text(const char *text, size_t length) {
    char *copy = cli_alloc(length + 1, 1);
    memcpy(copy, text, length);
    return copy;
}

__attribute__((format(printf, 1, 0))) static char *format_list(const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = tort_vsnprintf(NULL, 0, format, arguments);
    char *text = cli_alloc((size_t)length + 1, 1);
    tort_vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

char *cli_format(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = format_list(format, arguments);
    va_end(arguments);
    return text;
}

void cli_append(char **text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *more = format_list(format, arguments);
    va_end(arguments);
    size_t used = strlen(*text), length = strlen(more);
    *text = cli_realloc(*text, used + length + 1, 1);
    memcpy(*text + used, more, length + 1);
    free(more);
}
