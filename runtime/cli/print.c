/* print.c - printf with its strings escaped, colours, the width of the terminal, progress (print.h). */
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/print.h"
#include "runtime/cli/text.h"
#include "runtime/core/base/locale.h"

/* ---- formatting -------------------------------------------------------------------------------------------------- */

/* Growing text, 0-terminated. */
typedef struct text {
    char *bytes;
    size_t used, capacity;
} text;

static void put(text *t, const char *bytes, size_t length) {
    if (t->used + length >= t->capacity) {
        t->capacity = 2 * t->capacity + length + 64;
        t->bytes = cli_realloc(t->bytes, t->capacity, 1);
    }
    memcpy(t->bytes + t->used, bytes, length);
    t->used += length;
    t->bytes[t->used] = 0;
}

static void put_blanks(text *t, int count) {
    while (count-- > 0) put(t, " ", 1);
}

/* A parsed conversion of a format, `%-8.3lld`; numbers given by '*' are already fetched. */
typedef struct conversion {
    bool left;
    char flags[8];
    int width, precision; /* precision -1: none */
    int longs;            /* number of 'l's; 'z' counts as 1, since size_t is as long as long, 'j' as 2 */
    char kind;
} conversion;

_Static_assert(sizeof(size_t) == sizeof(long), "sizes are read as long");

static int read_number(const char **format, va_list *arguments) {
    if (**format == '*') {
        ++*format;
        return va_arg(*arguments, int);
    }
    int number = 0;
    while (**format >= '0' && **format <= '9') number = 10 * number + *(*format)++ - '0';
    return number;
}

static conversion read_conversion(const char **format, va_list *arguments) {
    conversion c = {.precision = -1};
    size_t flags = strspn(*format, "-+ 0#");
    for (size_t i = 0; i < flags && i + 1 < sizeof c.flags; i++) c.flags[i] = (*format)[i];
    *format += flags;
    c.left = strchr(c.flags, '-') != NULL;
    c.width = read_number(format, arguments);
    if (**format == '.') {
        ++*format;
        c.precision = read_number(format, arguments);
    }
    for (; **format && strchr("hlzj", **format); ++*format) c.longs += **format == 'h' ? 0 : **format == 'j' ? 2 : 1;
    c.kind = *(*format)++;
    return c;
}

static void put_string(text *t, const conversion *c, const char *string) {
    size_t length = c->precision >= 0 ? strnlen(string, (size_t)c->precision) : strlen(string);
    char *escaped = cli_escape(string, length);
    int padding = c->width ? c->width - cli_columns(escaped) : 0;
    if (!c->left) put_blanks(t, padding);
    put(t, escaped, strlen(escaped));
    if (c->left) put_blanks(t, padding);
    free(escaped);
}

static void put_number(text *t, const conversion *c, va_list *arguments) {
    char format[48], digits[400];
    const bool real = strchr("eEfFgGaA", c->kind) != NULL;
    int used = snprintf(format, sizeof format, "%%%s%d", c->flags, c->width);
    if (!c->width) used -= 1;
    if (c->precision >= 0) used += snprintf(format + used, sizeof format - (size_t)used, ".%d", c->precision);
    snprintf(format + used, sizeof format - (size_t)used, "%s%c", real ? "" : "ll", c->kind);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    int length;
    if (real)
        length = tort_snprintf(digits, sizeof digits, format, va_arg(*arguments, double));
    else if (c->kind == 'd' || c->kind == 'i')
        length = snprintf(digits, sizeof digits, format,
                          c->longs == 0   ? va_arg(*arguments, int)
                          : c->longs == 1 ? va_arg(*arguments, long)
                                          : va_arg(*arguments, long long));
    else
        length = snprintf(digits, sizeof digits, format,
                          c->longs == 0   ? va_arg(*arguments, unsigned)
                          : c->longs == 1 ? va_arg(*arguments, unsigned long)
                                          : va_arg(*arguments, unsigned long long));
#pragma GCC diagnostic pop
    put(t, digits, length < (int)sizeof digits ? (size_t)length : sizeof digits - 1);
}

char *cli_print_list(const char *format, va_list arguments) {
    text t = {0};
    va_list rest;
    va_copy(rest, arguments);
    put(&t, "", 0);
    while (*format) {
        size_t literal = strcspn(format, "%");
        put(&t, format, literal);
        format += literal;
        if (!*format) break;
        format++;
        conversion c = read_conversion(&format, &rest);
        if (c.kind == '%')
            put(&t, "%", 1);
        else if (c.kind == 's')
            put_string(&t, &c, va_arg(rest, const char *));
        else if (c.kind == 'c')
            put_string(&t, &c, (char[]){(char)va_arg(rest, int), 0});
        else
            put_number(&t, &c, &rest);
    }
    va_end(rest);
    return t.bytes;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

void cli_print(FILE *file, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *made = cli_print_list(format, arguments);
    va_end(arguments);
    fputs(made, file);
    free(made);
}

bool cli_colours(FILE *file) {
    const char *refused = getenv("NO_COLOR");
    return (!refused || !*refused) && isatty(fileno(file));
}

void cli_print_colour(FILE *file, cli_colour colour, const char *format, ...) {
    static const char *const codes[] = {"", "\033[1m", "\033[2m", "\033[31m", "\033[32m", "\033[33m", "\033[36m"};
    va_list arguments;
    va_start(arguments, format);
    char *made = cli_print_list(format, arguments);
    va_end(arguments);
    const bool coloured = colour != CLI_PLAIN && *made && cli_colours(file);
    if (coloured) fputs(codes[colour], file);
    fputs(made, file);
    if (coloured) fputs("\033[0m", file);
    free(made);
}

void cli_print_line(FILE *file, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *made = cli_print_list(format, arguments);
    va_end(arguments);
    const int width = cli_width(file, 0);
    const char *rest = made;
    for (int indent = 0; rest == made || *rest; indent = 2) {
        const char *next = "";
        const size_t length = width > indent ? cli_line_of(rest, width - indent, &next) : strlen(rest);
        fprintf(file, "%*s%.*s\n", indent, "", (int)length, rest);
        rest = next;
    }
    free(made);
}

bool cli_flush(bool *reader_gone) {
    const bool written = fflush(stdout) == 0 && !ferror(stdout);
    struct pollfd end = {.fd = STDOUT_FILENO, .events = POLLOUT};
    *reader_gone = !written && poll(&end, 1, 0) == 1 && (end.revents & POLLERR);
    return written;
}

/* ---- the terminal ------------------------------------------------------------------------------------------------ */

int cli_width(FILE *file, int asked) {
    if (asked) return asked;
    if (!isatty(fileno(file))) return 0;
    const char *columns = getenv("COLUMNS");
    if (columns && atoi(columns) > 0) return atoi(columns);
    struct winsize size;
    return ioctl(fileno(file), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void cli_progress(const char *format, ...) {
    if (!isatty(STDERR_FILENO)) return;
    va_list arguments;
    va_start(arguments, format);
    char *made = cli_print_list(format, arguments);
    va_end(arguments);
    int width = cli_width(stderr, 0);
    char *line = width > 8 ? cli_shorten(made, width - 5) : cli_copy_text(made, strlen(made));
    fputs("\r\033[K", stderr);
    fputs(line, stderr);
    fputs(" ...", stderr);
    fflush(stderr);
    free(line);
    free(made);
}

void cli_progress_end(void) {
    if (isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
}
