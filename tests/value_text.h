/* value_text.h - values as text, so that a test compares two lines. */
#ifndef TORT_TESTS_VALUE_TEXT_H
#define TORT_TESTS_VALUE_TEXT_H

#include "runtime/core/graph/value.h"

enum { VALUE_TEXT = 1024 };

/* "float[2] 1 2", "seq(tensor(float)): float[] 1, float[0]", "optional(...): none", "map(int64,tensor(float)): 7 =
 * float[] 1". NULL is "nothing". */
const char *value_text(const tort_value *value, char text[VALUE_TEXT]);

/* A tensor of rank 0 to 2 ("", "3", "2,3") with elements first, first + 1 ...; of strings "s0", "s1" ... */
tort_value *value_counting(const tort_env *env, tort_type type, const char *dims, int64_t first);

#endif
