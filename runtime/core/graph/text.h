/* text.h - memory for the bytes of strings that operators make. Owned by a context, or by a session for folded
 * strings; freed as a whole. */
#ifndef TORT_RUNTIME_GRAPH_TEXT_H
#define TORT_RUNTIME_GRAPH_TEXT_H

#include "runtime/core/base/memory.h"

struct tort_text *tort_text_new(const tort_env *env); /* NULL: out of memory */
size_t tort_text_bytes(void);                         /* bytes of an empty one */
void tort_text_clear(struct tort_text *text);
void tort_text_free(struct tort_text *text);

#endif
