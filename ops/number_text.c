/* number_text.c - floats as the shortest text that reads back. */
#include "ops/number_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/numeric.h"
#include "runtime/core/base/locale.h"

/* True if `value`, written and read again, is the same element of `type`. */
static bool survives(tort_type type, const char *written, double value) {
    double read;
    tort_read_double((tort_string){written, strlen(written)}, &read);
    if (type == TORT_DOUBLE) return read == value;
    if (type == TORT_FLOAT) return (float)read == (float)value;
    return tort_encode_float(type, read, false) == tort_encode_float(type, value, false);
}

/* Fewest significant digits of a finite value > 0, without the point; *exponent: power of ten of the first one. */
static size_t shortest_digits(tort_type type, double value, char digits[24], int *exponent) {
    char written[TORT_NUMBER_TEXT];
    for (int more = 0; more < 17; more++) {
        tort_snprintf(written, sizeof written, "%.*e", more, value);
        if (survives(type, written, value)) break;
    }
    const char *e = strchr(written, 'e');
    size_t count = 0;
    for (const char *c = written; c < e; c++) {
        if (*c != '.') digits[count++] = *c;
    }
    while (count > 1 && digits[count - 1] == '0') count--;
    *exponent = atoi(e + 1);
    return count;
}

size_t tort_float_to_text(tort_type type, double value, char text[TORT_NUMBER_TEXT]) {
    char digits[24], *out = text;
    if (isnan(value)) return (size_t)snprintf(text, TORT_NUMBER_TEXT, "NaN");
    if (signbit(value)) *out++ = '-';
    if (isinf(value)) return (size_t)(out - text) + (size_t)snprintf(out, 4, "INF");
    int exponent = 0;
    size_t count = 1;
    digits[0] = '0';
    if (value != 0) count = shortest_digits(type, fabs(value), digits, &exponent);
    if (exponent < -4 || exponent >= 16) {
        *out++ = digits[0];
        if (count > 1) *out++ = '.';
        for (size_t i = 1; i < count; i++) *out++ = digits[i];
        return (size_t)(out - text) + (size_t)snprintf(out, 8, "e%+03d", exponent);
    }
    int point = exponent + 1; /* number of digits in front of it */
    if (point <= 0) *out++ = '0';
    for (int i = 0; i < point; i++) *out++ = (size_t)i < count ? digits[i] : '0';
    *out++ = '.';
    for (int i = point; i < 0; i++) *out++ = '0';
    for (size_t i = point > 0 ? (size_t)point : 0; i < count; i++) *out++ = digits[i];
    if (out[-1] == '.') *out++ = '0';
    *out = '\0';
    return (size_t)(out - text);
}
