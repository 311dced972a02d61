/* saved_files.c - saved plans where the system fails: files that cannot be read, written or replaced, or that become
 * shorter meanwhile; memory that runs out wherever an arena ends. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/core/base/memory.h"
#include "runtime/core/lowered/lowered.h"
#include "runtime/include/tinyort_plan.h"
#include "tests/counting_env.h"
#include "tests/unit/folder.h"
#include "tests/unit/saved_models.h"

static char path[96];

static void make_place(void) {
    make_folder();
    snprintf(path, sizeof path, "%s/plan", folder);
}

static void write_plan(const saved_bytes *bytes) {
    FILE *file = fopen(path, "wb");
    cr_assert(file);
    cr_assert_eq(fwrite(bytes->data, 1, bytes->size, file), bytes->size);
    fclose(file);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

Test(saved_files, what_is_no_plan, .init = make_place, .fini = remove_folder) {
    tort_session *session = NULL;
    tort_error error;
    write_plan(&(saved_bytes){.data = (uint8_t *)"", .size = 0});
    for (int map = 0; map < 2; map++) {
        const tort_plan_options options = {.struct_size = sizeof options, .map = map};
        cr_expect_eq(tort_session_load(NULL, path, &options, &session, &error), TORT_E_MODEL);
        cr_expect(strstr(error.msg, "not a saved plan: it has 0 bytes"), "%s", error.msg);
    }
    cr_expect_eq(tort_session_load_buffer(NULL, NULL, 0, NULL, &session, &error), TORT_E_MODEL);
    cr_expect_eq(tort_session_load(NULL, "/dev/null", NULL, &session, &error), TORT_E_IO);
    cr_expect(strstr(error.msg, "is not a regular file"), "%s", error.msg);
    cr_expect_null(session);
}

/* An allocator that does something to the open file at its n-th allocation. */
typedef struct meddler {
    int allocations, at, fd;
    off_t cut_to; /* -1: the file cannot be read any more */
} meddler;

static void *meddling_alloc(void *ud, void *memory, size_t old_size, size_t new_size) {
    meddler *m = ud;
    (void)old_size;
    if (!new_size) {
        free(memory);
        return NULL;
    }
    if (++m->allocations == m->at && m->cut_to >= 0) cr_assert_eq(truncate(path, m->cut_to), 0);
    if (m->allocations == m->at && m->cut_to < 0) { /* what the file's number stands for is only written from now on */
        const int other = open("/dev/null", O_WRONLY);
        cr_assert(other >= 0 && dup2(other, m->fd) == m->fd);
        close(other);
    }
    return realloc(memory, new_size);
}

static int next_descriptor(void) {
    const int fd = open("/dev/null", O_RDONLY);
    cr_assert_geq(fd, 0);
    close(fd);
    return fd;
}

/* The first allocation is made before the file is opened. */
static void meddle(const saved_bytes *bytes, off_t cut_to, const char *words) {
    tort_status status = TORT_E_IO;
    for (int at = 2; status; at++) {
        meddler m = {.at = at, .fd = next_descriptor(), .cut_to = cut_to};
        const tort_env env = {.struct_size = sizeof env, .alloc = meddling_alloc, .alloc_ud = &m};
        tort_session *session = NULL;
        tort_error error = {.msg = ""};
        write_plan(bytes);
        status = tort_session_load(&env, path, NULL, &session, &error);
        cr_expect(!status || status == TORT_E_IO, "allocation %d: %s", at, error.msg);
        cr_expect(!status || strstr(error.msg, words), "allocation %d: %s", at, error.msg);
        tort_session_free(session);
        cr_assert_lt(at, 2000);
    }
}

Test(saved_files, a_file_that_is_cut_while_it_is_read, .init = make_place, .fini = remove_folder) {
    saved_original o = saved_original_make(saved_shape_arithmetic, &saved_on_cpu);
    const off_t size = (off_t)o.bytes.size;
    const off_t sizes[] = {0, 8, 16, size / 2, size - 200, size - 100, size - 24, size - 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) meddle(&o.bytes, sizes[i], "it has become shorter");
    saved_original_free(&o);
}

Test(saved_files, a_file_that_cannot_be_read_any_more, .init = make_place, .fini = remove_folder) {
    saved_original o = saved_original_make(saved_loop, &saved_on_cpu);
    meddle(&o.bytes, -1, "the saved plan cannot be read: Bad file descriptor");
    saved_original_free(&o);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void expect_unwritten(const tort_session *session, const char *to, const char *words) {
    tort_error error;
    char part[200];
    struct stat facts;
    cr_expect_eq(tort_session_save((tort_session *)session, to, &error), TORT_E_IO);
    cr_expect(strstr(error.msg, words), "\"%s\" is not in: %s", words, error.msg);
    cr_expect_eq(tort_session_save((tort_session *)session, to, NULL), TORT_E_IO);
    snprintf(part, sizeof part, "%s.part", to);
    cr_expect_neq(stat(part, &facts), 0, "%s is left", part);
}

Test(saved_files, a_name_that_a_folder_has, .init = make_place, .fini = remove_folder) {
    saved_original o = saved_original_make(saved_loop, &saved_on_cpu);
    tort_session *session = saved_load(&o.bytes);
    expect_unwritten(session, folder, "is a folder, and only a regular file is replaced");
    tort_session_free(session);
    saved_original_free(&o);
}

/* Whether the bytes do not fit while they are written, or what is left of them when the file is closed. */
Test(saved_files, a_disk_that_is_full, .init = make_place, .fini = remove_folder) {
    saved_original o = saved_original_make(saved_open_conv_net, &saved_on_cpu);
    tort_session *session = saved_load(&o.bytes);
    struct rlimit before, small;
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlim_t sizes[] = {0, 4096, o.bytes.size - 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        small = (struct rlimit){sizes[i], before.rlim_max};
        cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
        expect_unwritten(session, path, "File too large");
    }
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    cr_expect_eq(tort_session_save(session, path, NULL), TORT_OK);
    tort_session_free(session);
    saved_original_free(&o);
}

/* At the n-th write. */
static int fail_in_time(void *ud, const void *bytes, size_t size) {
    (void)bytes, (void)size;
    return --*(int *)ud == 0;
}

Test(saved_files, a_writer_fails_at_every_write) {
    const tort_writer none = {.struct_size = 0};
    for (int m = 0; m < SAVED_MODELS; m++) {
        saved_original o = saved_original_make(saved_models[m].write, &saved_on_cpu);
        tort_session *session = saved_load(&o.bytes);
        tort_error error;
        cr_expect_eq(tort_session_save_writer(session, &none, &error), TORT_E_USAGE);
        tort_status status = TORT_E_IO;
        for (int n = 1; status; n++) {
            int left = n;
            const tort_writer writer = {.struct_size = sizeof writer, .write = fail_in_time, .ud = &left};
            status = tort_session_save_writer(session, &writer, &error);
            cr_expect(!status || strstr(error.msg, "the writer failed at byte"), "%s", error.msg);
            cr_assert_lt(n, 1000);
        }
        tort_session_free(session);
        saved_original_free(&o);
    }
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* A text of so many bytes stands in front of what the model keeps. */
static size_t padding;

static void behind_padding(onnx_bytes *b) {
    static char text[3 * TORT_ARENA_FIRST];
    memset(text, 'p', sizeof text);
    onnx_blob(b, MODEL_PRODUCER, text, padding);
    onnx_begin(b, MODEL_METADATA);
    onnx_text(b, 1, "key");
    onnx_text(b, 2, "value");
    onnx_end(b);
    saved_shape_arithmetic(b);
}

typedef tort_status attempt_of(tort_counting_env *counting, const saved_bytes *bytes);

static tort_status load_it(tort_counting_env *counting, const saved_bytes *bytes) {
    tort_session *session = NULL;
    tort_status status = tort_session_load_buffer(&counting->env, bytes->data, bytes->size, NULL, &session, NULL);
    tort_session_free(session);
    return status;
}

static tort_status load_file(tort_counting_env *counting, const saved_bytes *bytes) {
    tort_session *session = NULL;
    (void)bytes;
    tort_status status = tort_session_load(&counting->env, path, NULL, &session, NULL);
    tort_session_free(session);
    return status;
}

/* Counts from where the session is there. */
static tort_status save_file(tort_counting_env *counting, const saved_bytes *bytes) {
    const int64_t fail_at = counting->fail_at;
    tort_session *session = NULL;
    counting->fail_at = 0;
    cr_assert_eq(tort_session_load_buffer(&counting->env, bytes->data, bytes->size, NULL, &session, NULL), TORT_OK);
    counting->allocations = 0;
    counting->fail_at = fail_at;
    tort_status status = tort_session_save(session, path, NULL);
    tort_session_free(session);
    return status;
}

/* Each allocation of at least so many bytes. */
static void fail_each(attempt_of *attempt, const saved_bytes *bytes, size_t min_size) {
    tort_status status = TORT_E_MEMORY;
    for (int64_t n = 1; status; n++) {
        tort_counting_env counting;
        tort_counting_env_init(&counting);
        counting.min_size = min_size;
        counting.fail_at = n;
        status = attempt(&counting, bytes);
        cr_assert(!status || status == TORT_E_MEMORY, "allocation %lld: %s", (long long)n, tort_status_name(status));
        cr_assert_eq(counting.live_blocks, 0);
        cr_assert_eq(counting.wrong_sizes, 0);
        cr_assert_lt(n, 5000);
    }
}

Test(saved_files, an_allocation_anywhere_fails_while_a_plan_is_loaded, .timeout = 300) {
    for (padding = 0; padding < 3 * TORT_ARENA_FIRST; padding += 16) {
        saved_original o = saved_original_make(behind_padding, &saved_on_cpu);
        fail_each(load_it, &o.bytes, TORT_ARENA_FIRST);
        saved_original_free(&o);
    }
}

Test(saved_files, an_allocation_fails_around_a_file, .init = make_place, .fini = remove_folder) {
    saved_original o = saved_original_make(saved_loop, &saved_on_cpu);
    write_plan(&o.bytes);
    fail_each(load_file, &o.bytes, 0);
    fail_each(save_file, &o.bytes, 0);
    saved_original_free(&o);
}

/* As many constants and nodes as it takes for each list of them to be an allocation of its own. */
static void many_constants(onnx_bytes *b) {
    enum { COUNT = TORT_ARENA_FIRST + 100 };
    const int64_t one[] = {1};
    char value[16] = "v0000", weight[16] = "w0000", inputs[40];
    onnx_begin_model(b, 17);
    onnx_value(b, GRAPH_INPUT, "v0000", TORT_FLOAT, 1, one);
    for (int i = 1; i <= COUNT; i++) {
        const float number = (float)i;
        snprintf(inputs, sizeof inputs, "%s w%04d", value, i);
        snprintf(value, sizeof value, "v%04d", i);
        snprintf(weight, sizeof weight, "w%04d", i);
        onnx_tensor(b, GRAPH_INITIALIZER, weight, TORT_FLOAT, 1, one, &number, sizeof number);
        onnx_node(b, i % 2 ? "Add" : "Sub", "", inputs, value);
    }
    onnx_value(b, GRAPH_OUTPUT, value, TORT_FLOAT, 1, one);
    onnx_end(b);
}

Test(saved_files, an_allocation_of_a_large_plan_fails, .init = make_place, .fini = remove_folder, .timeout = 300) {
    saved_original o = saved_original_make(many_constants, &saved_on_cpu);
    fail_each(load_it, &o.bytes, 1 << 14);
    fail_each(save_file, &o.bytes, TORT_ARENA_FIRST);
    saved_original_free(&o);
}

/* ---- what is replaced -------------------------------------------------------------------------------------------- */

/* Number of entries of a folder, without "." and "..". */
static int entries_of(const char *where) {
    int count = -2;
    DIR *dir = opendir(where);
    cr_assert(dir);
    while (readdir(dir)) count++;
    closedir(dir);
    return count;
}

Test(saved_files, only_a_regular_file_is_replaced_and_not_the_one_that_is_read) {
    saved_original o = saved_original_make(saved_conv_net, &saved_on_cpu);
    tort_session *session = saved_load(&o.bytes), *loaded;
    char place[] = "/tmp/saved_files_XXXXXX", plan[64], other[64], name[64];
    struct sigaction before, after;
    tort_error error;
    cr_assert(mkdtemp(place));
    snprintf(plan, sizeof plan, "%s/plan", place);
    snprintf(other, sizeof other, "%s/other", place);
    snprintf(name, sizeof name, "%s/link", place);
    sigaction(SIGINT, NULL, &before);
    for (int again = 0; again < 2; again++)
        cr_expect_eq(tort_session_save(session, plan, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(symlink(plan, name), 0);
    cr_expect_eq(tort_session_save(session, name, &error), TORT_E_IO);
    cr_expect(strstr(error.msg, "link\" is a symbolic link"), "%s", error.msg);
    cr_expect_eq(tort_session_save(session, place, &error), TORT_E_IO);
    cr_assert_eq(tort_session_load(NULL, plan, NULL, &loaded, &error), TORT_OK, "%s", error.msg);
    cr_expect_eq(tort_session_save(loaded, plan, &error), TORT_E_USAGE);
    cr_expect(strstr(error.msg, "that this model is read from"), "%s", error.msg);
    cr_expect_eq(tort_session_save(loaded, other, &error), TORT_OK, "%s", error.msg);
    sigaction(SIGINT, NULL, &after);
    cr_expect_eq(before.sa_handler, after.sa_handler, "signals are the application's");
    cr_expect_eq(entries_of(place), 3, "nothing else is left");
    tort_session_free(loaded);
    tort_session_free(session);
    saved_original_free(&o);
    remove(plan), remove(other), remove(name), rmdir(place);
}

/* ---- what a file may say of limits ------------------------------------------------------------------------------- */

static void save_with(const tort_session_options *options, saved_original *o) {
    onnx_bytes b = {0};
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_error error;
    saved_loop(&b);
    cr_assert_eq(tort_model_load_buffer(NULL, b.data, b.size, NULL, &model, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_session_create(NULL, model, options, &session, &error), TORT_OK, "%s", error.msg);
    const tort_writer writer = saved_writer(&o->bytes);
    cr_assert_eq(tort_session_save_writer(session, &writer, &error), TORT_OK, "%s", error.msg);
    tort_session_free(session);
    tort_model_free(model);
    onnx_free(&b);
}

Test(saved_files, a_file_does_not_lift_limits) {
    tort_session_options options = saved_on_cpu;
    options.chain = "cpu:threads=1000:mem_limit=1000T";
    options.dynamic_limit = options.trip_limit = UINT64_MAX;
    saved_original o = {.report = NULL};
    save_with(&options, &o);
    static const char *const given[] = {NULL, "cpu:threads=3:mem_limit=900T"};
    for (int i = 0; i < 2; i++) {
        const tort_plan_options loading = {
            .struct_size = sizeof loading, .chain = given[i], .dynamic_limit = i ? UINT64_MAX : 0};
        tort_session *session = NULL;
        tort_error error;
        cr_assert_eq(tort_session_load_buffer(NULL, o.bytes.data, o.bytes.size, &loading, &session, &error), TORT_OK,
                     "%s", error.msg);
        cr_expect_eq(session->options.dynamic_limit, i ? UINT64_MAX : TORT_DYNAMIC_LIMIT);
        cr_expect_eq(session->options.trip_limit, TORT_TRIP_LIMIT);
        cr_expect_eq(tort_pool_threads(session->pool), i ? 3 : tort_processors());
        cr_expect_eq(session->chain[0].target.memory > (uint64_t)1 << 40, i == 1);
        tort_session_free(session);
    }
    saved_original_free(&o);
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

Test(saved_files, limits_of_the_plan_or_of_who_loads_it) {
    tort_session_options options = saved_on_cpu;
    options.trip_limit = 2;
    saved_original o = {.report = NULL};
    onnx_bytes b = {0};
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_error error;
    tort_value *outputs[MAX_PORTS];
    saved_loop(&b);
    cr_assert_eq(tort_model_load_buffer(NULL, b.data, b.size, NULL, &model, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_session_create(NULL, model, &options, &session, &error), TORT_OK, "%s", error.msg);
    const tort_writer writer = saved_writer(&o.bytes);
    cr_assert_eq(tort_session_save_writer(session, &writer, &error), TORT_OK, "%s", error.msg);
    tort_session_free(session);
    tort_model_free(model);
    onnx_free(&b);
    for (uint64_t limit = 0; limit <= 3; limit += 3) { /* the body runs three times */
        const tort_plan_options loading = {
            .struct_size = sizeof loading, .trip_limit = limit, .dynamic_limit = limit << 20};
        cr_assert_eq(tort_session_load_buffer(NULL, o.bytes.data, o.bytes.size, &loading, &session, &error), TORT_OK);
        error.msg[0] = 0;
        cr_expect_eq(saved_run(session, outputs, &error) == TORT_OK, limit > 0, "%s", error.msg);
        cr_expect(limit || strstr(error.msg, "have made 2 trips"), "%s", error.msg);
        saved_release(outputs);
        tort_session_free(session);
    }
    saved_original_free(&o);
}
