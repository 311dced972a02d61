/* suggest.h - suggests the right spelling of a misspelt word. */
#ifndef TORT_RUNTIME_BASE_SUGGEST_H
#define TORT_RUNTIME_BASE_SUGGEST_H

#include <stddef.h>

/* The candidate with the fewest edits (insertion, deletion, replacement, transposition; a change of case counts half)
 * to `word`; NULL if none is near enough. */
const char *tort_nearest(const char *word, const char *const *candidates, size_t count);
/* Writes "; did you mean 'X'?" or "" into the buffer, and returns it. */
const char *tort_did_you_mean(const char *word, const char *const *candidates, size_t count, char *buffer, size_t size);

#endif
