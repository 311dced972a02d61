/* locale.c - calls of the C library under the locale "C". It is that of the calling thread alone, so that no thread
 * sees another's; for glibc and musl it is a constant, and nothing is allocated. No other file may call what depends on
 * the locale (.ci/check_layers.sh). */
#include "runtime/core/base/locale.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/base/ascii.h"

enum { LONGEST = 511 };

typedef struct locales {
    locale_t plain, before;
} locales;

static locales enter(void) {
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return (locales){plain, uselocale(plain)};
}

static void leave(locales l) {
    uselocale(l.before);
    if (l.plain) freelocale(l.plain);
}

int tort_vsnprintf(char *buffer, size_t size, const char *format, va_list arguments) {
    const locales l = enter();
    const int length = vsnprintf(buffer, size, format, arguments);
    leave(l);
    return length;
}

int tort_snprintf(char *buffer, size_t size, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int length = tort_vsnprintf(buffer, size, format, arguments);
    va_end(arguments);
    return length;
}

const char *tort_strerror(int cause) {
    const locales l = enter();
    const char *words = strerror(cause);
    leave(l);
    return words;
}

static tort_string without_blanks(tort_string text) {
    while (text.length > 0 && tort_is_blank(text.data[0])) text.data++, text.length--;
    while (text.length > 0 && tort_is_blank(text.data[text.length - 1])) text.length--;
    return text;
}

/* A float is not rounded twice, by way of a double. */
static bool read_number(tort_string text, bool single, double *value) {
    char copy[LONGEST + 1], *end; /* terminated */
    *value = 0;
    text = without_blanks(text);
    if (text.length == 0 || text.length > LONGEST) return false;
    for (size_t i = 0; i < text.length; i++) /* no hexadecimal number, no bits of a NaN */
        if (!text.data[i] || strchr("xX(", text.data[i])) return false;
    memcpy(copy, text.data, text.length);
    copy[text.length] = '\0';
    const locales l = enter();
    const double read = single ? (double)strtof(copy, &end) : strtod(copy, &end);
    leave(l);
    if (!*end) *value = read;
    return !*end;
}

bool tort_read_double(tort_string text, double *value) {
    return read_number(text, false, value);
}

bool tort_read_float(tort_string text, float *value) {
    double read;
    const bool is_number = read_number(text, true, &read);
    *value = (float)read;
    return is_number;
}

bool tort_read_int64(tort_string text, int64_t *value) {
    text = without_blanks(text);
    const bool negative = text.length > 0 && text.data[0] == '-';
    size_t i = negative || (text.length > 0 && text.data[0] == '+') ? 1 : 0;
    uint64_t magnitude = 0;
    if (i == text.length) return false;
    for (; i < text.length; i++) {
        if (!tort_is_digit(text.data[i])) return false;
        magnitude = magnitude * 10 + (uint64_t)(text.data[i] - '0');
    }
    *value = (int64_t)(negative ? 0 - magnitude : magnitude);
    return true;
}
