/* ending.c - the work that a run does after it was told to end, counted and not timed: whoever cancels waits for it.
 *
 * ending FOLDER QUESTION... runs FOLDER/model.onnx, by plain loops and by the fastest, once for each number: the
 * question of that number is answered by no, and so is every later one, as for a run that is out of time. What is
 * counted are the pieces of code between two branches (the library is compiled with -fsanitize-coverage=trace-pc, which
 * calls the first function below in each of them), and one for every 8 bytes that the C library copies or fills. After
 * MAX_STEPS of them the program gives up, and tells where it was. As many may be between two questions before. Where
 * the making of the session asks, too, it is ended in the same way. Prints the largest count. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/extra/tinyort_extra.h"
#include "runtime/core/base/watch.h"
#include "runtime/include/tinyort.h"

/* Well below 100 ms of plain code. */
enum { MAX_STEPS = 25000000, BYTES = 8, MAX_PORTS = 32, MAX_QUESTIONS = 100, PATTERN = 1 << 12, KEYS = 1 << 17 };

static struct {
    const char *isa;
    bool counting;
    uint64_t steps, last,
        most;              /* steps: all; last: at the last question that got a yes, or the first no; most: since */
    int64_t questions, no; /* no: the number of the first question that is answered by it */
} now;

void __sanitizer_cov_trace_pc(void);
void __real_tort_watch_begin(tort_watch *watch, uint64_t limit);
bool __real_tort_watch_goes_on(tort_watch *watch, int64_t work);
void *__real_memcpy(void *to, const void *from, size_t bytes);
void *__real_memmove(void *to, const void *from, size_t bytes);
void *__real_memset(void *to, int byte, size_t bytes);
void __wrap_tort_watch_begin(tort_watch *watch, uint64_t limit);
bool __wrap_tort_watch_goes_on(tort_watch *watch, int64_t work);
void *__wrap_memcpy(void *to, const void *from, size_t bytes);
void *__wrap_memmove(void *to, const void *from, size_t bytes);
void *__wrap_memset(void *to, int byte, size_t bytes);

static void count(uint64_t steps, const void *place) {
    now.steps += steps;
    if (!now.counting || now.steps - now.last <= MAX_STEPS) return;
    const bool over = now.questions >= now.no;
    printf("%p isa=%s: more than %d steps after %s %lld\n", place, now.isa, MAX_STEPS,
           over ? "the no to question" : "question", (long long)(over ? now.no : now.questions));
    fflush(stdout);
    _Exit(1);
}

void __sanitizer_cov_trace_pc(void) {
    count(1, __builtin_return_address(0));
}

static void end_gap(void) {
    if (now.steps - now.last > now.most) now.most = now.steps - now.last;
    now.last = now.steps;
}

/* A session, or a run, begins: nobody cancels what was before. */
void __wrap_tort_watch_begin(tort_watch *watch, uint64_t limit) {
    __real_tort_watch_begin(watch, limit);
    now.last = now.steps;
    now.questions = 0;
    now.counting = true;
}

bool __wrap_tort_watch_goes_on(tort_watch *watch, int64_t work) {
    if (++now.questions <= now.no) end_gap();
    if (now.questions == now.no) watch->end = TORT_OUT_OF_TIME;
    return __real_tort_watch_goes_on(watch, work);
}

void *__wrap_memcpy(void *to, const void *from, size_t bytes) {
    count(bytes / BYTES, __builtin_return_address(0));
    return __real_memcpy(to, from, bytes);
}

void *__wrap_memmove(void *to, const void *from, size_t bytes) {
    count(bytes / BYTES, __builtin_return_address(0));
    return __real_memmove(to, from, bytes);
}

void *__wrap_memset(void *to, int byte, size_t bytes) {
    count(bytes / BYTES, __builtin_return_address(0));
    return __real_memset(to, byte, bytes);
}

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

static void must(bool done, const char *what) {
    if (done) return;
    printf("%s\n", what);
    exit(2);
}

/* The whole file, with a 0 behind it; NULL: there is none. */
static char *read_file(const char *folder, const char *name, size_t *size) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    must(!fseek(file, 0, SEEK_END), "cannot seek");
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = calloc(*size + 1, 1);
    must(bytes && fread(bytes, 1, *size, file) == *size, "cannot read");
    fclose(file);
    return bytes;
}

/* The lines of the file NAME.txt again and again. */
static void fill_strings(const char *folder, const char *name, tort_string *strings, int64_t count) {
    char file[64];
    size_t size = 0;
    snprintf(file, sizeof file, "%s.txt", name);
    const char *texts = read_file(folder, file, &size), *line = texts;
    must(texts, "a string input has no file");
    for (int64_t i = 0; i < count; i++) {
        strings[i] = (tort_string){line, strcspn(line, "\n")};
        line += strings[i].length + 1;
        if (line >= texts + size) line = texts;
    }
}

/* Numbers of 0 to 1, in no order; bytes and bools of all kinds; 0 where it may be an index. */
static void fill(const tort_tensor *tensor, size_t bytes) {
    unsigned char *to = tensor->data;
    for (size_t i = 0; i < PATTERN; i++) {
        const unsigned some = (unsigned)(i * 2654435761u) >> 8;
        if (tensor->type == TORT_FLOAT && i < bytes / 4) ((float *)tensor->data)[i] = (float)(some & 1023) / 1024;
        if (tensor->type == TORT_DOUBLE && i < bytes / 8) ((double *)tensor->data)[i] = (double)(some & 1023) / 1024;
        if (tensor->type == TORT_BOOL && i < bytes) to[i] = some & 1;
        if ((tensor->type == TORT_UINT8 || tensor->type == TORT_INT8) && i < bytes) to[i] = some & 127;
    }
    const size_t element = (size_t)tort_type_bits(tensor->type) / 8, pattern = PATTERN * element;
    for (size_t at = pattern, part; at < bytes; at += part) {
        part = bytes - at < at ? bytes - at : at;
        memcpy(to + at, to, part);
    }
}

/* A map of 0, 1 ... to numbers. */
static tort_value *map_of(void) {
    static int64_t numbers[KEYS];
    static tort_value *elements[KEYS];
    const tort_tensor keys = {.type = TORT_INT64, .rank = 1, .dims = {KEYS}, .data = numbers};
    for (int64_t i = 0; i < KEYS; i++) {
        float number = (float)(numbers[i] = i);
        elements[i] = tort_value_tensor(NULL, &(tort_tensor){.type = TORT_FLOAT, .data = &number});
    }
    return tort_value_map(NULL, &keys, tort_tensor_type(TORT_FLOAT), (const tort_value *const *)elements);
}

static tort_value *input_of(const char *folder, const tort_model *model, int32_t index) {
    tort_port port = {.struct_size = sizeof port};
    must(!tort_model_input(model, index, &port, NULL), "there is no such input");
    if (tort_type_kind(port.value_type) == TORT_MAP) return map_of();
    tort_tensor tensor = {.type = port.type, .rank = port.rank};
    int64_t count;
    size_t bytes;
    memcpy(tensor.dims, port.dims, sizeof tensor.dims);
    must(tort_tensor_count(&tensor, &count) && tort_tensor_bytes(&tensor, &bytes), "an input has no size");
    tensor.data = calloc(bytes + 1, 1);
    must(tensor.data, "out of memory");
    char raw[64];
    size_t size = 0;
    snprintf(raw, sizeof raw, "%s.raw", port.name);
    char *whole = read_file(folder, raw, &size);
    if (whole)
        memcpy(tensor.data, whole, size < bytes ? size : bytes);
    else if (port.type == TORT_STRING)
        fill_strings(folder, port.name, tensor.data, count);
    else
        fill(&tensor, bytes);
    free(whole);
    tort_value *value = tort_value_borrow(NULL, &tensor, NULL, NULL);
    must(value, "out of memory");
    return value;
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

/* Ends what began with tort_watch_begin, which may have ended with the status of what was cancelled. */
static void end_counting(tort_status status, const tort_error *error) {
    end_gap();
    now.counting = false;
    must(!status || status == TORT_E_CANCELLED, error->msg);
}

static tort_session *create(const tort_model *model, const char *isa, int64_t no) {
    char chain[64];
    snprintf(chain, sizeof chain, "cpu:threads=1:isa=%s", isa);
    const tort_session_options options = {.struct_size = sizeof options, .chain = chain};
    tort_session *session = NULL;
    tort_error error = {0};
    now.no = no;
    end_counting(tort_session_create(NULL, model, &options, &session, &error), &error);
    return session;
}

typedef struct job {
    const tort_model *model;
    const tort_value *inputs[MAX_PORTS];
    int32_t input_count, output_count, question_count;
    int64_t questions[MAX_QUESTIONS];
} job;

static void run_all(const job *j, const char *isa) {
    tort_context *context = NULL;
    tort_error error = {0};
    now.isa = isa;
    tort_session *session = create(j->model, isa, INT64_MAX);
    const int64_t asked = now.questions;
    for (int32_t k = 0; k < j->question_count && j->questions[k] <= asked; k++)
        tort_session_free(create(j->model, isa, j->questions[k]));
    must(!tort_context_create(session, &context, &error), error.msg);
    for (int32_t k = 0; k < j->question_count; k++) {
        tort_value *outputs[MAX_PORTS] = {NULL};
        now.no = j->questions[k];
        const tort_status status =
            tort_context_run_values(context, j->inputs, j->input_count, outputs, j->output_count, &error);
        end_counting(status, &error);
        for (int32_t i = 0; i < j->output_count; i++) tort_value_release(outputs[i]);
    }
    tort_context_free(context);
    tort_session_free(session);
}

int main(int argc, char **argv) {
    must(argc > 2 && argc - 2 <= MAX_QUESTIONS, "usage: ending FOLDER QUESTION...");
    const tort_load_options load = {
        .struct_size = sizeof load, .operators = tort_extra_operators, .operator_abi = tort_extra_abi};
    tort_model *model = NULL;
    tort_error error = {0};
    char path[4096];
    snprintf(path, sizeof path, "%s/model.onnx", argv[1]);
    must(!tort_model_load(NULL, path, &load, &model, &error), error.msg);
    job j = {.model = model,
             .input_count = tort_model_input_count(model),
             .output_count = tort_model_output_count(model),
             .question_count = argc - 2};
    must(j.input_count <= MAX_PORTS && j.output_count <= MAX_PORTS, "too many inputs or outputs");
    for (int32_t i = 0; i < j.input_count; i++) j.inputs[i] = input_of(argv[1], model, i);
    for (int32_t k = 0; k < j.question_count; k++) j.questions[k] = atoll(argv[2 + k]);
    run_all(&j, "plain");
    run_all(&j, "auto");
    printf("%llu\n", (unsigned long long)now.most);
    return 0;
}
