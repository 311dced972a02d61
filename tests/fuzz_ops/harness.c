/* harness.c - runs small models that come on standard input and answers on standard output, until the input ends.
 *
 * A request: u32 seconds it may take, u32 flags (1: nothing is folded), text chain, text model, u32 inputs, then each
 * input as a tensor. An answer: u32 status, then the message, or u32 outputs and each output as a tensor. A text is u32
 * bytes and the bytes; a tensor is u32 type, u32 rank, i64 dims, then its bytes as one text, or for strings a text an
 * element. All numbers are little-endian. A case that takes too long ends the process by SIGALRM, a crash by its own
 * signal: it belongs to the request that has no answer. What is not freed after a case is a failure of the case. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/tinyort.h"
#include "tests/counting_env.h"

enum { MOST_TENSORS = 64, LEAK = 100, UNFOLDED = 1 };
static const size_t most_bytes = (size_t)512 << 20; /* of one case: absurd attributes ask for more */

/* ---- what stands in for the environment -------------------------------------------------------------------------- */

typedef struct surroundings {
    tort_env env;
    tort_counting_env counting;
} surroundings;

static void *limited_alloc(void *ud, void *ptr, size_t old_size, size_t new_size) {
    tort_counting_env *counting = &((surroundings *)ud)->counting;
    if (new_size > old_size && new_size - old_size > most_bytes - counting->live_bytes) return NULL;
    return counting->env.alloc(counting->env.alloc_ud, ptr, old_size, new_size);
}

/* Pieces one after the other: no threads to start for each small case, and pieces must not depend on each other. */
static void in_pieces(void *ud, int64_t count, int64_t grain, void (*body)(void *, int64_t, int64_t), void *arg) {
    (void)ud;
    (void)grain;
    const int64_t third = count / 3;
    if (third > 0) body(arg, count - third, count);
    if (count - third > 0) body(arg, 0, count - third);
}

static void surroundings_init(surroundings *e) {
    tort_counting_env_init(&e->counting);
    e->env =
        (tort_env){.struct_size = sizeof(tort_env), .alloc = limited_alloc, .alloc_ud = e, .parallel_for = in_pieces};
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void must(bool done, const char *what) {
    if (done) return;
    fprintf(stderr, "harness: %s\n", what);
    exit(2);
}

static void read_bytes(void *to, size_t size) {
    must(!size || fread(to, 1, size, stdin) == size, "the request ends early");
}

static uint32_t read_number(void) {
    uint32_t value;
    read_bytes(&value, sizeof value);
    return value;
}

/* The caller frees it; a 0 stands behind it. */
static char *read_text(size_t *length) {
    *length = read_number();
    char *text = malloc(*length + 1);
    must(text, "out of memory");
    read_bytes(text, *length);
    text[*length] = '\0';
    return text;
}

static void read_tensor(tort_tensor *tensor) {
    size_t length, bytes;
    int64_t count;
    *tensor = (tort_tensor){.type = (tort_type)read_number(), .rank = (int32_t)read_number()};
    must(tensor->rank >= 0 && tensor->rank <= TORT_MAX_RANK, "a rank is too high");
    read_bytes(tensor->dims, (size_t)tensor->rank * sizeof(int64_t));
    must(tort_tensor_count(tensor, &count) && tort_tensor_bytes(tensor, &bytes), "a tensor has no size");
    if (tensor->type != TORT_STRING) {
        tensor->data = read_text(&length);
        must(length == bytes, "a tensor has another number of bytes than its shape");
        return;
    }
    tort_string *strings = calloc((size_t)count + 1, sizeof *strings);
    must(strings, "out of memory");
    for (int64_t i = 0; i < count; i++) strings[i].data = read_text(&strings[i].length);
    tensor->data = strings;
}

static void free_tensor(const tort_tensor *tensor) {
    int64_t count = 0;
    tort_tensor_count(tensor, &count);
    for (int64_t i = 0; tensor->type == TORT_STRING && i < count; i++)
        free((void *)(uintptr_t)((tort_string *)tensor->data)[i].data);
    free(tensor->data);
}

/* ---- answering --------------------------------------------------------------------------------------------------- */

static void write_bytes(const void *from, size_t size) {
    must(!size || fwrite(from, 1, size, stdout) == size, "nobody reads the answer");
}

static void write_number(uint32_t value) {
    write_bytes(&value, sizeof value);
}

static void write_text(const void *text, size_t length) {
    write_number((uint32_t)length);
    write_bytes(text, length);
}

static void write_tensor(const tort_tensor *tensor) {
    int64_t count = 0;
    size_t bytes = 0;
    must(tort_tensor_count(tensor, &count) && tort_tensor_bytes(tensor, &bytes), "an output has no size");
    write_number((uint32_t)tensor->type);
    write_number((uint32_t)tensor->rank);
    write_bytes(tensor->dims, (size_t)tensor->rank * sizeof(int64_t));
    if (tensor->type != TORT_STRING) {
        write_text(tensor->data, bytes);
        return;
    }
    const tort_string *strings = tensor->data;
    for (int64_t i = 0; i < count; i++) write_text(strings[i].data, strings[i].length);
}

/* ---- a case ------------------------------------------------------------------------------------------------------ */

typedef struct request {
    uint32_t flags;
    char *chain, *model;
    size_t model_bytes;
    tort_tensor inputs[MOST_TENSORS];
    int32_t input_count;
} request;

static void read_request(request *r) {
    size_t length;
    r->flags = read_number();
    r->chain = read_text(&length);
    r->model = read_text(&r->model_bytes);
    r->input_count = (int32_t)read_number();
    must(r->input_count <= MOST_TENSORS, "too many inputs");
    for (int32_t i = 0; i < r->input_count; i++) read_tensor(&r->inputs[i]);
}

/* Answers, unless it fails: outputs belong to the context and end with it. */
static tort_status run(const request *r, const tort_env *env, tort_error *error) {
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_tensor outputs[MOST_TENSORS] = {{0}};
    tort_session_options options = {
        .struct_size = sizeof options, .chain = r->chain, .unfolded = (r->flags & UNFOLDED) != 0};
    tort_status status = tort_model_load_buffer(env, r->model, r->model_bytes, NULL, &model, error);
    const int32_t count = status ? 0 : tort_model_output_count(model);
    must(count <= MOST_TENSORS, "too many outputs");
    if (!status) status = tort_session_create(env, model, &options, &session, error);
    if (!status) status = tort_context_create(session, &context, error);
    if (!status) status = tort_context_run(context, r->inputs, r->input_count, outputs, count, error);
    if (!status) {
        write_number(TORT_OK);
        write_number((uint32_t)count);
        for (int32_t i = 0; i < count; i++) write_tensor(&outputs[i]);
    }
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
    return status;
}

static void answer_one(uint32_t seconds) {
    surroundings around;
    request r;
    tort_error error = {0};
    surroundings_init(&around);
    read_request(&r);
    alarm(seconds);
    tort_status status = run(&r, &around.env, &error);
    alarm(0);
    if (status) {
        write_number((uint32_t)status);
        write_text(error.msg, strlen(error.msg));
    }
    /* An answer in any case ends with what is wrong beside it. */
    write_number(around.counting.live_blocks || around.counting.wrong_sizes ? LEAK : 0);
    fflush(stdout);
    for (int32_t i = 0; i < r.input_count; i++) free_tensor(&r.inputs[i]);
    free(r.chain);
    free(r.model);
}

int main(void) {
    uint32_t seconds;
    while (fread(&seconds, sizeof seconds, 1, stdin) == 1) answer_one(seconds);
    return 0;
}
