/* locale.h - what the C library does by the locale that the application has set, done as if it had set none: numbers to
 * and from text, with a '.', and what errno means. */
#ifndef TORT_RUNTIME_BASE_LOCALE_H
#define TORT_RUNTIME_BASE_LOCALE_H

#include <stdarg.h>

#include "runtime/include/tinyort.h"

/* The functions of the C library without tort_, under its locale "C". */
const char *tort_strerror(int cause);
int tort_snprintf(char *buffer, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
int tort_vsnprintf(char *buffer, size_t size, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

/* Reads a decimal number, "inf" or "nan" in any case, with blanks around it, correctly rounded. False, and 0: it is
 * anything else, or longer than 511 bytes. */
bool tort_read_double(tort_string text, double *value);
bool tort_read_float(tort_string text, float *value);
/* Reads an integer of 64 bits; larger ones wrap. False if it has anything but a sign, digits, and blanks around it. */
bool tort_read_int64(tort_string text, int64_t *value);

#endif
