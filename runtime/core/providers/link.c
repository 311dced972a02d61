/* link.c - calls an open provider: one function for each member of its vtable that touches the device.
 *
 * Only here the device is made current and given back (enter, leave), and a lost device is noted. This file decides
 * nothing. Read next: provider.h, chain.c. */
#include "runtime/core/lowered/lowered.h"
#include "runtime/include/tinyort_profile.h"
#include "runtime/core/providers/link.h"

int32_t tort_link_enter(const tort_link *link) {
    return link->opened && link->provider->enter ? link->provider->enter(link->device) : 0;
}

void tort_link_leave(const tort_link *link, int32_t before) {
    if (link->opened && link->provider->leave) link->provider->leave(link->device, before);
}

tort_status tort_link_noted(const tort_link *link, tort_status status) {
    if (status == TORT_E_DEVICE_LOST) *link->lost = true;
    return status;
}

tort_status tort_session_lost(tort_error *error) {
    return tort_fail(
        error, TORT_E_DEVICE_LOST,
        "the device was lost in an earlier call: make a new session; on a GPU the program has to be started anew");
}

tort_status tort_link_copy(const tort_link *link, void *stream, void *dst, const void *src, size_t bytes,
                           tort_direction direction, tort_error *error) {
    const int32_t before = tort_link_enter(link);
    tort_status status = link->provider->memory.copy(link->device, stream, dst, src, bytes, direction, error);
    tort_link_leave(link, before);
    return tort_link_noted(link, status);
}

tort_status tort_link_copy_current(const tort_link *link, void *stream, void *dst, const void *src, size_t bytes,
                                   tort_direction direction, tort_error *error) {
    return tort_link_noted(link, link->provider->memory.copy(link->device, stream, dst, src, bytes, direction, error));
}

tort_status tort_link_copy_late(const tort_link *link, void *stream, void *dst, const void *src, size_t bytes,
                                tort_error *error) {
    if (!link->provider->memory.copy_late)
        return tort_link_copy_current(link, stream, dst, src, bytes, TORT_TO_HOST, error);
    return tort_link_noted(link, link->provider->memory.copy_late(link->device, stream, dst, src, bytes, error));
}

void tort_link_stage(const tort_link *link, void *stream, int32_t copies, size_t bytes) {
    if (!link->opened || !link->provider->memory.stage) return;
    const int32_t before = tort_link_enter(link);
    link->provider->memory.stage(link->device, stream, copies, bytes);
    tort_link_leave(link, before);
}

tort_status tort_link_sync(const tort_link *link, void *stream, tort_error *error) {
    if (!link->opened || !link->provider->stream.sync) return TORT_OK;
    const int32_t before = tort_link_enter(link);
    tort_status status = link->provider->stream.sync(link->device, stream, error);
    tort_link_leave(link, before);
    return tort_link_noted(link, status);
}

tort_status tort_link_sync_current(const tort_link *link, void *stream, tort_error *error) {
    if (!link->opened || !link->provider->stream.sync) return TORT_OK;
    return tort_link_noted(link, link->provider->stream.sync(link->device, stream, error));
}

tort_status tort_link_stream_open(const tort_link *link, void **stream, tort_error *error) {
    if (!link->opened || !link->provider->stream.open) return TORT_OK;
    const int32_t before = tort_link_enter(link);
    tort_status status = link->provider->stream.open(link->device, stream, error);
    tort_link_leave(link, before);
    return tort_link_noted(link, status);
}

void tort_link_stream_close(const tort_link *link, void *stream) {
    const int32_t before = tort_link_enter(link);
    link->provider->stream.close(link->device, stream);
    tort_link_leave(link, before);
}

void tort_link_calls(const tort_link *link, void *stream, tort_device_calls *calls) {
    *calls = (tort_device_calls){0};
    if (link->opened && link->provider->stream.calls) link->provider->stream.calls(link->device, stream, calls);
}

uint32_t tort_link_reach(const tort_link *link, const void *pointer) {
    if (!link->opened || !link->provider->memory.reach) return TORT_REACH_HOST | TORT_REACH_DEVICE;
    const int32_t before = tort_link_enter(link);
    uint32_t reach = link->provider->memory.reach(link->device, pointer);
    tort_link_leave(link, before);
    return reach;
}

void *tort_link_alloc(const tort_link *link, size_t bytes) {
    const int32_t before = tort_link_enter(link);
    void *memory = link->provider->memory.alloc(link->device, bytes ? bytes : 1);
    tort_link_leave(link, before);
    return memory;
}

void tort_link_free(const tort_link *link, void *memory, size_t bytes) {
    const int32_t before = tort_link_enter(link);
    link->provider->memory.free(link->device, memory, bytes ? bytes : 1);
    tort_link_leave(link, before);
}

tort_status tort_link_failed(const tort_link *link, tort_status status, tort_error *error) {
    if (!error) return status;
    error->provider = link->provider->name;
    tort_error_prefix(error, "%s", link->provider->name);
    return status;
}

void tort_link_lost_before(const tort_link *link, bool waited, tort_error *error) {
    if (error->code != TORT_E_DEVICE_LOST || waited || !link->provider->stream.open) return;
    tort_error_prefix(error, "at or before this node (the option wait_steps, --step-by-step, finds which)");
    error->node = -1;
}

/* Synchronizes first, so that a lost device is reported as such; only then are free bytes queried for the message. */
tort_status tort_link_alloc_failed(const tort_link *link, uint64_t bytes, const char *purpose, tort_error *error) {
    const tort_provider *provider = link->provider;
    tort_status status = tort_link_sync(link, NULL, error);
    if (status == TORT_E_DEVICE_LOST) return tort_link_failed(link, status, error);
    const int32_t before = tort_link_enter(link);
    uint64_t left = provider->memory.bytes_free ? provider->memory.bytes_free(link->device) : 0;
    tort_link_leave(link, before);
    tort_fail(error, TORT_E_MEMORY, "%s has no %llu bytes for %s (%llu are free)", provider->name,
              (unsigned long long)bytes, purpose, (unsigned long long)left);
    if (error) error->provider = provider->name;
    return TORT_E_MEMORY;
}
