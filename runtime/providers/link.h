/* link.h - calls of a provider, with its device made current. */
#ifndef TORT_RUNTIME_PROVIDERS_LINK_H
#define TORT_RUNTIME_PROVIDERS_LINK_H

#include "runtime/lowered/lowered.h"

/* What every later call on a session whose device was lost answers. */
tort_status tort_session_lost(tort_error *error);

/* The provider's vtable, with the device made current for the call and given back. Around a kernel's own
 * functions (run, prepare, fit ...) the caller enters and leaves; what enter returns, leave gets. */
int32_t tort_link_enter(const tort_link *link);
void tort_link_leave(const tort_link *link, int32_t before);
tort_status tort_link_noted(const tort_link *link, tort_status status); /* itself; a lost device is noted */
tort_status tort_link_copy(const tort_link *link, void *stream, void *dst, const void *src, size_t bytes,
                           tort_direction direction, tort_error *error);
/* The same where its device is the current one. Then to the host, there when the stream was waited for. */
tort_status tort_link_copy_current(const tort_link *link, void *stream, void *dst, const void *src, size_t bytes,
                                   tort_direction direction, tort_error *error);
tort_status tort_link_copy_late(const tort_link *link, void *stream, void *dst, const void *src, size_t bytes,
                                tort_error *error);
void tort_link_stage(const tort_link *link, void *stream, int32_t copies, size_t bytes);
tort_status tort_link_sync(const tort_link *link, void *stream, tort_error *error);
/* The same where its device is the current one. */
tort_status tort_link_sync_current(const tort_link *link, void *stream, tort_error *error);
tort_status tort_link_stream_open(const tort_link *link, void **stream, tort_error *error);
void tort_link_stream_close(const tort_link *link, void *stream);
void tort_link_calls(const tort_link *link, void *stream, struct tort_device_calls *calls); /* zeros: not counted */
uint32_t tort_link_reach(const tort_link *link, const void *pointer);
void *tort_link_alloc(const tort_link *link, size_t bytes); /* NULL: none; tort_link_alloc_failed says why */
void tort_link_free(const tort_link *link, void *memory, size_t bytes);
/* A call of the provider failed outside of any node: the error names the provider. Returns the status. */
tort_status tort_link_failed(const tort_link *link, tort_status status, tort_error *error);
/* After a step failed and its node was named. A device that runs behind the host may have been lost in any step up to
 * this one, unless each was waited for: then no node is at fault for certain. */
void tort_link_lost_before(const tort_link *link, bool waited, tort_error *error);
/* Why the device gave no memory: it is lost, or has too little of it; the message says how much. */
tort_status tort_link_alloc_failed(const tort_link *link, uint64_t bytes, const char *purpose, tort_error *error);

#endif
