/* kept_open.c - see kept_open.h. */
#include "tests/cuda/kept_open.h"

static struct {
    const tort_provider *inner;
    tort_provider outer;
    tort_env env; /* outlives every session's own */
    bool opened, libraries;
    void *device, *stream;
    tort_target target;
    tort_condition condition;
} kept;

/* Libraries before the stream, which gets its handles of them when it is made. */
static void open_libraries_and_stream(void) {
    const int32_t before = kept.inner->enter ? kept.inner->enter(kept.device) : 0;
    for (const char *const *name = kept.inner->libraries; kept.libraries && name && *name; name++) {
        char message[160], cure[160];
        (void)kept.inner->library(kept.device, *name, message, sizeof message, cure, sizeof cure);
    }
    tort_error error;
    if (kept.inner->stream.open(kept.device, &kept.stream, &error)) {
        kept.condition = (tort_condition){.ready = false, .code = "FAILED"};
        for (size_t i = 0; i + 1 < sizeof kept.condition.message && error.msg[i]; i++)
            kept.condition.message[i] = error.msg[i];
    }
    if (kept.inner->leave) kept.inner->leave(kept.device, before);
}

static void open_once(const tort_provider_config *config, void **device, tort_target *target,
                      tort_condition *condition) {
    if (!kept.opened) {
        tort_provider_config mine = *config;
        kept.env = tort_env_complete(NULL);
        mine.env = &kept.env;
        kept.opened = true;
        kept.inner->open(&mine, &kept.device, &kept.target, &kept.condition);
        if (kept.condition.ready) open_libraries_and_stream();
    }
    *device = kept.device;
    *target = kept.target;
    *condition = kept.condition;
}

static void close_later(void *device) {
    (void)device;
}

static tort_status lend_stream(void *device, void **stream, tort_error *error) {
    (void)device, (void)error;
    *stream = kept.stream;
    return TORT_OK;
}

static void take_stream_back(void *device, void *stream) {
    (void)device, (void)stream;
}

const tort_provider *kept_open(const tort_provider *provider, bool libraries) {
    kept.inner = provider;
    kept.libraries = libraries;
    kept.outer = *provider;
    kept.outer.open = open_once;
    kept.outer.close = close_later;
    kept.outer.stream.open = lend_stream;
    kept.outer.stream.close = take_stream_back;
    return &kept.outer;
}

void kept_open_end(void) {
    if (kept.stream) {
        const int32_t before = kept.inner->enter ? kept.inner->enter(kept.device) : 0;
        kept.inner->stream.close(kept.device, kept.stream);
        if (kept.inner->leave) kept.inner->leave(kept.device, before);
    }
    if (kept.opened && kept.device) kept.inner->close(kept.device);
    kept.opened = false;
    kept.device = kept.stream = NULL;
}
