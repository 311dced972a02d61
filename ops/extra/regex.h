/* regex.h - RE2 for C: regular expressions that match in linear time, whatever the pattern. */
#ifndef TORT_OPS_EXTRA_REGEX_H
#define TORT_OPS_EXTRA_REGEX_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tort_regex tort_regex;

/* NULL: the pattern is wrong, and `message` says why. The caller closes it. */
tort_regex *tort_regex_open(const char *pattern, size_t length, char *message, size_t size);
void tort_regex_close(tort_regex *regex);
/* Is all of the text a match? From any thread. */
bool tort_regex_matches(const tort_regex *regex, const char *text, size_t length);
/* The first match from byte `from` on, there the longest: its place and length in bytes. False: there is none that is
 * not empty. From any thread. */
bool tort_regex_find(const tort_regex *regex, const char *text, size_t length, size_t from, size_t *at, size_t *found);

#ifdef __cplusplus
}
#endif
#endif
