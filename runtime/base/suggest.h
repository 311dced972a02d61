/* suggest.h - the nearest right spelling of a wrong word. */
#ifndef TORT_RUNTIME_BASE_SUGGEST_H
#define TORT_RUNTIME_BASE_SUGGEST_H

#include <stddef.h>

/* The candidate with the fewest edits (insert, delete, replace, swap of neighbours; case counts half) to `word`; NULL
 * if none is near enough to be what was meant. */
const char *tort_nearest(const char *word, const char *const *candidates, size_t count);
/* "; did you mean 'X'?" or "" into buffer, which is returned. */
const char *tort_did_you_mean(const char *word, const char *const *candidates, size_t count, char *buffer, size_t size);

#endif
