/* ascii.h - letters, digits and blanks of ASCII, the same under every locale: a Turkish one has no small form of 'I'.
 */
#ifndef TORT_RUNTIME_BASE_ASCII_H
#define TORT_RUNTIME_BASE_ASCII_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool tort_is_digit(char c) {
    return c >= '0' && c <= '9';
}

static inline bool tort_is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline char tort_to_lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static inline char tort_to_upper(char c) {
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static inline bool tort_is_word(char c) {
    return tort_is_digit(c) || (tort_to_lower(c) >= 'a' && tort_to_lower(c) <= 'z');
}

/* True if they are equal, or their first `length` bytes are, but for the case of letters. */
static inline bool tort_same_start(const char *a, const char *b, size_t length) {
    size_t i = 0;
    while (i < length && a[i] && tort_to_lower(a[i]) == tort_to_lower(b[i])) i++;
    return i == length || (!a[i] && !b[i]);
}

static inline bool tort_same_word(const char *a, const char *b) {
    return tort_same_start(a, b, SIZE_MAX);
}

#endif
