/* text.h - memory for the bytes of strings that operators make. Belongs to a context, or to a session for what was
 * folded; emptied as a whole. */
#ifndef TORT_RUNTIME_GRAPH_TEXT_H
#define TORT_RUNTIME_GRAPH_TEXT_H

#include "runtime/base/memory.h"

struct tort_text *tort_text_new(const tort_env *env); /* NULL: out of memory */
size_t tort_text_bytes(void);                         /* of an empty one */
void tort_text_clear(struct tort_text *text);
void tort_text_free(struct tort_text *text);

#endif
