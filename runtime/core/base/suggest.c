/* suggest.c - finds the right spelling of a misspelt word by edit distance (Damerau-Levenshtein,
 * optimal string alignment). */
#include <stdio.h>
#include <string.h>

#include "runtime/core/base/suggest.h"
#include "runtime/core/base/ascii.h"

#define LONGEST 63

static int replace_cost(char a, char b) {
    if (a == b) return 0;
    return tort_to_lower(a) == tort_to_lower(b) ? 1 : 2;
}

static int min(int a, int b) {
    return a < b ? a : b;
}

/* Twice the edit distance, as a change of case counts half; words that are too long to compare are infinitely far. */
static int distance(const char *a, const char *b) {
    size_t m = strlen(a), n = strlen(b);
    if (m > LONGEST || n > LONGEST) return 1000;
    int rows[3][LONGEST + 1];
    for (size_t j = 0; j <= n; j++) rows[0][j] = (int)(2 * j);
    for (size_t i = 1; i <= m; i++) {
        int *row = rows[i % 3];
        const int *above = rows[(i - 1) % 3], *second = rows[(i + 1) % 3];
        row[0] = (int)(2 * i);
        for (size_t j = 1; j <= n; j++) {
            row[j] = min(above[j - 1] + replace_cost(a[i - 1], b[j - 1]), min(above[j], row[j - 1]) + 2);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = min(row[j], second[j - 2] + 2);
        }
    }
    return rows[m % 3][n];
}

const char *tort_nearest(const char *word, const char *const *candidates, size_t count) {
    const char *best = NULL;
    /* At most a third of the word may change, or one edit if that is more; but in a word of
     * one letter only its case. */
    int limit = (int)strlen(word) * 2 / 3, min_limit = strlen(word) < 2 ? 1 : 2;
    int fewest = limit < min_limit ? min_limit : limit;
    for (size_t i = 0; i < count; i++) {
        int edits = tort_same_word(word, candidates[i]) ? 1 : distance(word, candidates[i]);
        if (edits > fewest || (best && edits == fewest)) continue;
        best = candidates[i];
        fewest = edits;
    }
    return best;
}

const char *tort_did_you_mean(const char *word, const char *const *candidates, size_t count, char *buffer,
                              size_t size) {
    const char *nearest = tort_nearest(word, candidates, count);
    if (nearest)
        snprintf(buffer, size, "; did you mean '%s'?", nearest);
    else
        snprintf(buffer, size, "%s", "");
    return buffer;
}
