/* regex.h - RE2 for C: regular expressions that match in linear time, whatever the pattern. */
#ifndef TORT_OPS_EXTRA_REGEX_H
#define TORT_OPS_EXTRA_REGEX_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tort_regex tort_regex;

/* Compiles a pattern; the caller closes it. NULL if it is malformed; `message` says why. */
tort_regex *tort_regex_open(const char *pattern, size_t length, char *message, size_t size);
void tort_regex_close(tort_regex *regex);
/* True if the pattern matches the whole text. Thread-safe. */
bool tort_regex_matches(const tort_regex *regex, const char *text, size_t length);
/* Finds the first match from byte `from` on, the longest at its place: offset and length in bytes. Skips empty matches;
 * false if there is no other. Thread-safe. */
bool tort_regex_find(const tort_regex *regex, const char *text, size_t length, size_t from, size_t *at, size_t *found);

#ifdef __cplusplus
}
#endif
#endif
