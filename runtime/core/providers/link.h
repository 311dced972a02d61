/* link.h - calls the functions of a provider, with its device made current. */
#ifndef TORT_RUNTIME_PROVIDERS_LINK_H
#define TORT_RUNTIME_PROVIDERS_LINK_H

#include "runtime/core/lowered/lowered.h"

/* The error of every call on a session after its device was lost. */
tort_status tort_session_lost(tort_error *error);

/* Functions of the provider's vtable; each makes the device current for the call. Around a kernel's own functions (run,
 * prepare, fit, ...) the caller uses tort_link_enter and passes its result to tort_link_leave. */
int32_t tort_link_enter(const tort_link *link);
void tort_link_leave(const tort_link *link, int32_t before);
tort_status tort_link_noted(const tort_link *link, tort_status status); /* returns the status; notes a lost device */
tort_status tort_link_copy(const tort_link *link, void *stream, void *dst, const void *src, size_t bytes,
                           tort_direction direction, tort_error *error);
/* Two copies for callers whose device is current already; the late one goes to the host, and is complete after the
 * next sync of the stream. */
tort_status tort_link_copy_current(const tort_link *link, void *stream, void *dst, const void *src, size_t bytes,
                                   tort_direction direction, tort_error *error);
tort_status tort_link_copy_late(const tort_link *link, void *stream, void *dst, const void *src, size_t bytes,
                                tort_error *error);
void tort_link_stage(const tort_link *link, void *stream, int32_t copies, size_t bytes);
tort_status tort_link_sync(const tort_link *link, void *stream, tort_error *error);
/* The same for callers whose device is current already. */
tort_status tort_link_sync_current(const tort_link *link, void *stream, tort_error *error);
tort_status tort_link_stream_open(const tort_link *link, void **stream, tort_error *error);
void tort_link_stream_close(const tort_link *link, void *stream);
void tort_link_calls(const tort_link *link, void *stream, struct tort_device_calls *calls); /* all 0: not counted */
uint32_t tort_link_reach(const tort_link *link, const void *pointer);
void *tort_link_alloc(const tort_link *link, size_t bytes); /* NULL: failed, see tort_link_alloc_failed */
void tort_link_free(const tort_link *link, void *memory, size_t bytes);
/* Names the provider in the error of a call that belongs to no node; returns the status. */
tort_status tort_link_failed(const tort_link *link, tort_status status, tort_error *error);
/* Corrects the error of a failed step. Devices run behind the host, so unless each step was waited for, a device may
 * have been lost in an earlier step: the error then names no node for certain. */
void tort_link_lost_before(const tort_link *link, bool waited, tort_error *error);
/* The error of a failed allocation: a lost device, or too little memory, with the bytes that are free. */
tort_status tort_link_alloc_failed(const tort_link *link, uint64_t bytes, const char *purpose, tort_error *error);

#endif
