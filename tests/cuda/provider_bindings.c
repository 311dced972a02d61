/* provider_bindings.c - the CUDA provider with inputs and outputs that stay on the device: device pointers in and out,
 * at the start of a buffer and inside it, streams eager and lazy; pinned memory; pointers into the wrong memory, or off
 * their alignment; each call of CUDA fails once. Read first: provider_tester.h. */
#include <stdio.h>
#include <string.h>

#include "kernels/cudasim/cudart.h"
#include "tests/cuda/provider_tester.h"
#include "tests/cuda/simulator.h"
#include "tests/report_of.h"

enum { IMAGE_BYTES = 2 * 3 * 6 * 5 * sizeof(float), OUTPUT_BYTES = PROVIDER_MODEL_COUNT * sizeof(float) };

typedef struct bound {
    tester *t;
    tort_session *session;
    tort_context *context;
    uint8_t *image, *output; /* on the device, with room before them */
    void *stream;            /* option of the session */
    tort_error error;
} bound;

static void check(bound *b, bool good, const char *what, const char *detail) {
    tester_check(b->t, good, what, detail);
}

enum { ROOM = 64 }; /* bytes, so that pointers may lie inside a buffer */

static tort_status open_bound(bound *b, const char *chain) {
    static const char *const bindings[] = {"image=cudasim", "y=cudasim"};
    const tort_provider *const providers[] = {b->t->provider, NULL};
    tort_session_options options = {.struct_size = sizeof options,
                                    .chain = chain,
                                    .providers = providers,
                                    .bindings = bindings,
                                    .binding_count = 2,
                                    .stream = b->stream};
    void *image = NULL, *output = NULL;
    b->session = NULL;
    b->context = NULL;
    tort_status status = tort_session_create(&b->t->memory->env, b->t->model.model, &options, &b->session, &b->error);
    if (!status) status = tort_context_create(b->session, &b->context, &b->error);
    if (!status) status = tort_memory_alloc(b->session, "cudasim", IMAGE_BYTES + ROOM, &image, &b->error);
    if (!status) status = tort_memory_alloc(b->session, "cudasim", OUTPUT_BYTES + ROOM, &output, &b->error);
    b->image = image;
    b->output = output;
    return status;
}

static void close_bound(bound *b) {
    if (b->session) {
        tort_memory_free(b->session, "cudasim", b->image, IMAGE_BYTES + ROOM);
        tort_memory_free(b->session, "cudasim", b->output, OUTPUT_BYTES + ROOM);
    }
    tort_context_free(b->context);
    tort_session_free(b->session);
    tester_check_leftovers(b->t, "bindings");
}

static tort_status run(bound *b, void *image, void *output, void **made) {
    const tort_tensor inputs[] = {{TORT_FLOAT, 4, {2, 3, 6, 5}, image}, {TORT_INT64, 1, {2}, b->t->model.ids}};
    tort_tensor outputs[] = {{TORT_FLOAT, 2, {2, 6}, output}};
    tort_status status = tort_context_run(b->context, inputs, 2, outputs, 1, &b->error);
    *made = outputs[0].data;
    return status;
}

/* Uploads, runs, brings the output back; offset in bytes for both pointers. output_given: the caller's buffer. */
static tort_status round_trip(bound *b, int offset, bool output_given, float *found) {
    void *made = NULL;
    tort_status status = tort_memory_copy(b->context, "cudasim", b->image + offset, b->t->model.image, IMAGE_BYTES,
                                          TORT_TO_DEVICE, &b->error);
    if (!status) status = run(b, b->image + offset, output_given ? b->output + offset : NULL, &made);
    if (!status && output_given && made != b->output + offset) check(b, false, "the output", "is not the buffer given");
    if (!status) status = tort_memory_copy(b->context, "cudasim", found, made, OUTPUT_BYTES, TORT_TO_HOST, &b->error);
    return status;
}

static void check_round_trips(bound *b, bool lazy) {
    cudasim_settings settings = b->t->control->defaults();
    float found[PROVIDER_MODEL_COUNT];
    settings.lazy_streams = lazy;
    b->t->control->configure(&settings);
    tort_status status = open_bound(b, "cudasim");
    if (!status) {
        tort_report *report = report_of(b->session);
        check(b, report->copy_count == 1, "copies", "only 'ids' is to be copied");
        tort_report_free(report);
    }
    for (int offset = 0; !status && offset < ROOM; offset += 16)
        for (int given = 0; !status && given < 2; given++) {
            status = round_trip(b, offset, given, found);
            if (!status)
                check(b, tester_is_right(b->t, found), lazy ? "lazy streams" : "eager streams", "wrong values");
        }
    check(b, !status, "a bound run", status ? b->error.msg : "");
    check(b, !*b->t->control->failure(), "a bound run", b->t->control->failure());
    close_bound(b);
}

static void check_wrong_memory(bound *b) {
    tort_session *second = NULL;
    const tort_provider *const providers[] = {b->t->provider, NULL};
    tort_session_options options = {.struct_size = sizeof options, .chain = "cudasim:device=1", .providers = providers};
    void *elsewhere = NULL, *made;
    float host[2 * 3 * 6 * 5] = {0}, found[PROVIDER_MODEL_COUNT];
    cudasim_settings settings = b->t->control->defaults();
    b->t->control->configure(&settings);
    tort_status status = open_bound(b, "cudasim");
    if (!status) status = tort_session_create(&b->t->memory->env, b->t->model.model, &options, &second, &b->error);
    if (!status) status = tort_memory_alloc(second, "cudasim", IMAGE_BYTES, &elsewhere, &b->error);
    check(b, !status, "two devices", status ? b->error.msg : "");
    if (!status) {
        check(b,
              run(b, host, NULL, &made) == TORT_E_INPUT && strstr(b->error.msg, "input \"image\" is bound to cudasim"),
              "host memory for a bound input", b->error.msg);
        check(b, run(b, elsewhere, NULL, &made) == TORT_E_INPUT && strstr(b->error.msg, "input \"image\""),
              "memory of another device", b->error.msg);
        check(b, run(b, b->image, host, &made) == TORT_E_INPUT && strstr(b->error.msg, "output \"y\""),
              "host memory for a bound output", b->error.msg);
        check(b, run(b, b->image + 4, NULL, &made) == TORT_E_INPUT && strstr(b->error.msg, "multiple of 16 bytes"),
              "device memory off its alignment", b->error.msg);
        status = round_trip(b, 0, true, found);
        check(b, !status && tester_is_right(b->t, found), "the run after them", status ? b->error.msg : "wrong values");
    }
    if (second) tort_memory_free(second, "cudasim", elsewhere, IMAGE_BYTES);
    tort_session_free(second);
    close_bound(b);
}

/* Each call of CUDA fails once: a named error or none, right values without one, and nothing is left behind. follows: a
 * stream of the application is given. */
static void check_failing_calls(bound *b, int code, bool follows) {
    cudasim_settings settings = b->t->control->defaults();
    float found[PROVIDER_MODEL_COUNT];
    char what[80];
    int calls = 1, that_matter = 0, failures = 0;
    for (int n = 0; n <= calls; n++) { /* 0: none fails, to count them */
        b->t->control->configure(&settings);
        void *const stream = follows ? b->t->control->stream_open() : NULL;
        const int before = b->t->control->calls(NULL);
        b->stream = stream;
        if (n) b->t->control->fail_nth(NULL, n, code);
        tort_status status = open_bound(b, "cudasim");
        if (!status) status = round_trip(b, 16, true, found);
        if (!n) calls = b->t->control->calls(NULL) - before, that_matter = simulator_calls_that_matter(b->t->control);
        snprintf(what, sizeof what, "error %d in call %d of %d", code, n, calls);
        failures += status != TORT_OK;
        check(b, status ? n && *b->error.msg : tester_is_right(b->t, found), what,
              status ? b->error.msg : "wrong values");
        b->t->control->fail_nth(NULL, 0, 0);
        if (stream) b->t->control->stream_close(stream);
        close_bound(b);
        b->stream = NULL;
    }
    check(b, failures > that_matter / 2, "failing calls", "most went unnoticed");
}

/* Pinned memory is within reach of the device, whichever side it is bound to; other host memory is not. */
static void check_pinned(bound *b) {
    float *pinned = b->t->control->host_alloc(IMAGE_BYTES + OUTPUT_BYTES),
          *output = pinned + IMAGE_BYTES / sizeof(float);
    void *made;
    tester_configure(b->t, NULL);
    tort_status status = open_bound(b, "cudasim");
    check(b, !status && pinned, "a session for pinned memory", status ? b->error.msg : "");
    if (!status && pinned) {
        memcpy(pinned, b->t->model.image, IMAGE_BYTES);
        status = run(b, pinned, output, &made);
        check(b, !status && tester_is_right(b->t, output), "pinned memory", status ? b->error.msg : "wrong values");
    }
    if (pinned) b->t->control->host_free(pinned);
    close_bound(b);
}

/* The image is still on its way, in a stream of the application, when the run begins: with option `stream` the run
 * waits for it on the device, without it reads what was there before. Plain, recorded and replayed runs. */
static void check_application_stream(bound *b, bool given) {
    cudasim_settings settings = b->t->control->defaults();
    float found[PROVIDER_MODEL_COUNT];
    int right = 0;
    settings.lazy_streams = true;
    b->t->control->configure(&settings);
    uint8_t *const late = b->t->control->host_alloc(IMAGE_BYTES);
    void *const stream = b->t->control->stream_open();
    b->stream = given ? stream : NULL;
    tort_status status = open_bound(b, "cudasim");
    if (late) memcpy(late, b->t->model.image, IMAGE_BYTES);
    for (int turn = 0; !status && late && turn < 4; turn++) {
        static const float zeros[IMAGE_BYTES / sizeof(float)];
        void *made;
        status = tort_memory_copy(b->context, "cudasim", b->image, zeros, IMAGE_BYTES, TORT_TO_DEVICE, &b->error);
        if (!status && b->t->control->stream_copy(stream, b->image, late, IMAGE_BYTES)) status = TORT_E_RUN;
        if (!status) status = run(b, b->image, b->output, &made);
        if (!status)
            status = tort_memory_copy(b->context, "cudasim", found, made, OUTPUT_BYTES, TORT_TO_HOST, &b->error);
        right += !status && tester_is_right(b->t, found);
    }
    check(b, !status, "a stream of the application", status ? b->error.msg : "");
    check(b, given ? right == 4 : right < 4, "a stream of the application",
          given ? "the run did not wait for it" : "the run waited for a stream that it does not know");
    b->t->control->stream_close(stream);
    if (late) b->t->control->host_free(late);
    close_bound(b);
    b->stream = NULL;
}

/* A run waits for the device, which ends a capture: so it is refused, and the application's graph stays whole. */
static void check_captured_stream(bound *b) {
    void *made;
    tester_configure(b->t, NULL);
    void *const stream = b->t->control->stream_open();
    b->stream = stream;
    tort_status status = open_bound(b, "cudasim");
    check(b, !status && !b->t->control->stream_capture(stream), "a capture", status ? b->error.msg : "did not begin");
    if (!status) status = run(b, b->image, b->output, &made);
    check(b, status == TORT_E_USAGE && strstr(b->error.msg, "captures a CUDA graph"), "a captured stream",
          b->error.msg);
    check(b, !b->t->control->broken_captures(), "a captured stream", "its graph was broken");
    b->t->control->stream_close(stream);
    close_bound(b);
    b->stream = NULL;
}

static void check_stream_without_device(bound *b) {
    static char stream;
    tort_session *session = NULL;
    const tort_session_options options = {.struct_size = sizeof options, .chain = "cpu:threads=1", .stream = &stream};
    tort_context *context = NULL;
    tort_status status = tort_session_create(&b->t->memory->env, b->t->model.model, &options, &session, &b->error);
    if (!status) status = tort_context_create(session, &context, &b->error);
    check(b, status == TORT_E_USAGE && strstr(b->error.msg, "option stream"), "a stream on cpu", b->error.msg);
    tort_context_free(context);
    tort_session_free(session);
}

void provider_test_bindings(tester *t) {
    bound b = {.t = t};
    check_application_stream(&b, true);
    check_application_stream(&b, false);
    check_captured_stream(&b);
    check_stream_without_device(&b);
    check_round_trips(&b, false);
    check_round_trips(&b, true);
    check_pinned(&b);
    check_wrong_memory(&b);
    check_failing_calls(&b, cudaErrorUnknown, false);
    check_failing_calls(&b, cudaErrorMemoryAllocation, false);
    check_failing_calls(&b, cudaErrorUnknown, true);
}
