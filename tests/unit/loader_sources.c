/* Tests of loader/source.c and wire.c: where a model's bytes come from, with limits of the system, sizes that no file
 * has, and bytes that are others when they are read again. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loader/limits.h"
#include "loader/source.h"
#include "runtime/core/base/memory.h"
#include "tests/counting_env.h"
#include "tests/unit/folder.h"
#include "tests/unit/loading.h"

/* ---- files ------------------------------------------------------------------------------------------------------ */

static void external_tensor(onnx_bytes *b, const char *name, const char *location, const char *more) {
    onnx_begin_tensor(b, GRAPH_INITIALIZER, name, TORT_FLOAT, 1, three);
    onnx_int(b, TENSOR_LOCATION, 1);
    const char *const entries[][2] = {{"location", location}, {"checksum", "of no interest"}, {"offset", more}};
    for (int i = 0; i < (more ? 3 : 2); i++) {
        onnx_begin(b, TENSOR_EXTERNAL);
        onnx_text(b, 1, entries[i][0]);
        onnx_text(b, 2, entries[i][1]);
        onnx_end(b);
    }
    onnx_end(b);
}

/* A model in a file, of two weights from one location. */
static const char *two_weights(const char *location) {
    onnx_bytes b = {0};
    onnx_begin_model(&b, 17);
    external_tensor(&b, "v", location, "0");
    external_tensor(&b, "w", location, NULL);
    onnx_end(&b);
    write_file("model.onnx", b.data, b.size);
    onnx_free(&b);
    return in_folder("model.onnx");
}

static const float numbers[] = {1, 2, 3};

static tort_model *load_two(const tort_load_options *options) {
    tort_model *model = NULL;
    tort_error error = {0};
    write_file("w.bin", numbers, sizeof numbers);
    cr_assert_eq(tort_model_load(NULL, two_weights("w.bin"), options, &model, &error), TORT_OK, "%s", error.msg);
    return model;
}

Test(loader_sources, weights_of_one_file, .init = make_folder, .fini = remove_folder) {
    tort_model *model = load_two(NULL);
    for (int32_t i = 0; i < 2; i++) {
        const void *data;
        cr_assert_eq(tort_weight_acquire(model, i, &data, NULL), TORT_OK);
        cr_assert_arr_eq(data, numbers, sizeof numbers);
        tort_weight_release(model, i);
    }
    tort_model_free(model);
}

static void refuse_file(const char *path, const char *words) {
    tort_model *model = NULL;
    tort_error error = {0};
    const tort_status status = tort_model_load(NULL, path, NULL, &model, &error);
    cr_assert(status == TORT_E_IO || status == TORT_E_MODEL, "%s", tort_status_name(status));
    cr_assert(strstr(error.msg, words), "\"%s\" is not in: %s", words, error.msg);
    cr_assert_null(model);
}

Test(loader_sources, what_is_no_file, .init = make_folder, .fini = remove_folder) {
    refuse_file("/dev/null", "is not a regular file");
    refuse_file(folder, "is a folder, not a file");
    refuse_file(in_folder("gone"), "No such file");
    cr_assert_eq(mkfifo(in_folder("pipe"), 0600), 0);
    refuse_file(in_folder("pipe"), "is not a regular file");
}

/* Two dots at the beginning or the end of a longer name are no way out of the folder; a part of 256 characters is no
 * name of a file. */
Test(loader_sources, locations_that_look_like_others, .init = make_folder, .fini = remove_folder) {
    char name[257];
    memset(name, 'n', sizeof name - 1);
    name[256] = 0;
    refuse_file(two_weights("a./w.bin"), "is missing");
    refuse_file(two_weights(".a/w.bin"), "is missing");
    refuse_file(two_weights("..a"), "is missing");
    refuse_file(two_weights(name), "a location whose part is 256 characters long");
}

Test(loader_sources, an_offset_beyond_all_numbers, .init = make_folder, .fini = remove_folder) {
    onnx_bytes b = {0};
    onnx_begin_model(&b, 17);
    external_tensor(&b, "w", "w.bin", "99999999999999999999");
    onnx_end(&b);
    REFUSE(&b, TORT_E_MODEL, "offset is \"99999999999999999999\"");
}

static void refuse_weight(const tort_model *model, const char *words) {
    const void *data;
    tort_error error = {0};
    cr_assert_eq(tort_weight_acquire((tort_model *)model, 0, &data, &error), TORT_E_IO);
    cr_assert(strstr(error.msg, words), "\"%s\" is not in: %s", words, error.msg);
}

Test(loader_sources, a_file_that_is_touched_or_cut_or_gone, .init = make_folder, .fini = remove_folder) {
    const struct timespec long_ago[] = {{.tv_sec = 1}, {.tv_sec = 1}};
    tort_model *model = load_two(NULL);
    cr_assert_eq(utimensat(AT_FDCWD, in_folder("w.bin"), long_ago, 0), 0);
    refuse_weight(model, "written since the model was loaded");
    cr_assert_eq(truncate(in_folder("w.bin"), 4), 0);
    refuse_weight(model, "written since the model was loaded");
    cr_assert_eq(unlink(in_folder("w.bin")), 0);
    refuse_weight(model, "\"w.bin\" is missing");
    tort_model_free(model);
}

/* The weight is in the model's own file, which has become shorter. */
Test(loader_sources, a_model_that_is_cut, .init = make_folder, .fini = remove_folder) {
    onnx_bytes b = {0};
    tort_model *model = NULL;
    onnx_begin_model(&b, 17);
    onnx_tensor(&b, GRAPH_INITIALIZER, "w", TORT_FLOAT, 1, three, numbers, sizeof numbers);
    onnx_end(&b);
    write_file("model.onnx", b.data, b.size);
    cr_assert_eq(tort_model_load(NULL, in_folder("model.onnx"), NULL, &model, NULL), TORT_OK);
    cr_assert_eq(truncate(in_folder("model.onnx"), (off_t)b.size - 20), 0);
    refuse_weight(model, "became shorter since it was opened");
    tort_model_free(model);
    onnx_free(&b);
}

/* The file of the model is the last that can be opened: it is read, and only what lies beside it cannot be. */
Test(loader_sources, no_descriptor_is_left_for_the_folder, .init = make_folder, .fini = remove_folder) {
    tort_model *model = NULL;
    tort_error error = {0};
    onnx_bytes b = {0};
    onnx_sample_model(&b);
    write_file("alone.onnx", b.data, b.size);
    onnx_free(&b);
    write_file("w.bin", numbers, sizeof numbers);
    two_weights("w.bin");
    const int next = open("/dev/null", O_RDONLY);
    cr_assert_geq(next, 0);
    close(next);
    struct rlimit before, few;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = (struct rlimit){(rlim_t)next + 1, before.rlim_max};
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    const tort_status alone = tort_model_load(NULL, in_folder("alone.onnx"), NULL, &model, &error);
    tort_model_free(model);
    model = NULL;
    const tort_status external = tort_model_load(NULL, in_folder("model.onnx"), NULL, &model, &error);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    cr_assert_eq(alone, TORT_OK);
    cr_assert_eq(external, TORT_E_IO);
    cr_assert(strstr(error.msg, "the model's folder cannot be opened"), "%s", error.msg);
}

/* An empty file cannot be mapped; it has room for a tensor of nothing. */
Test(loader_sources, an_empty_file_that_is_to_be_mapped, .init = make_folder, .fini = remove_folder) {
    const tort_load_options options = {.struct_size = sizeof options, .map_external = true};
    const int64_t none[] = {0};
    onnx_bytes b = {0};
    tort_model *model = NULL;
    const void *data;
    write_file("w.bin", "", 0);
    onnx_begin_model(&b, 17);
    onnx_begin_tensor(&b, GRAPH_INITIALIZER, "w", TORT_FLOAT, 1, none);
    onnx_int(&b, TENSOR_LOCATION, 1);
    onnx_begin(&b, TENSOR_EXTERNAL);
    onnx_text(&b, 1, "location");
    onnx_text(&b, 2, "w.bin");
    for (int i = 0; i < 3; i++) onnx_end(&b);
    write_file("model.onnx", b.data, b.size);
    onnx_free(&b);
    cr_assert_eq(tort_model_load(NULL, in_folder("model.onnx"), &options, &model, NULL), TORT_OK);
    cr_assert_eq(tort_weight_acquire(model, 0, &data, NULL), TORT_OK);
    tort_weight_release(model, 0);
    tort_model_free(model);
}

static int give_zeros(void *ud, const char *location, uint64_t offset, uint64_t length, void *dst) {
    (void)ud, (void)location, (void)offset;
    memset(dst, 0, (size_t)length);
    return 0;
}

static void fail_each_allocation(const tort_load_options *options) {
    tort_status status = TORT_E_MEMORY;
    for (int64_t n = 1; status; n++) {
        tort_counting_env counting;
        tort_model *model = NULL;
        tort_counting_env_init(&counting);
        counting.fail_at = n;
        status = tort_model_load(&counting.env, in_folder("model.onnx"), options, &model, NULL);
        cr_assert(!status || status == TORT_E_MEMORY, "allocation %lld: %s", (long long)n, tort_status_name(status));
        tort_model_free(model);
        cr_assert_eq(counting.live_blocks, 0);
        cr_assert_eq(counting.wrong_sizes, 0);
        cr_assert_lt(n, 1000);
    }
}

Test(loader_sources, an_allocation_fails_while_a_file_is_loaded, .init = make_folder, .fini = remove_folder) {
    tort_model_free(load_two(NULL));
    fail_each_allocation(NULL);
    fail_each_allocation(&(tort_load_options){.struct_size = sizeof(tort_load_options), .map_external = true});
}

/* ---- facts of tensors ------------------------------------------------------------------------------------------- */

Test(loader_sources, tensors_as_no_writer_leaves_them) {
    onnx_bytes b = {0};
    onnx_begin_model(&b, 17);
    onnx_begin_tensor(&b, GRAPH_INITIALIZER, "w", TORT_FLOAT, 0, NULL);
    onnx_begin(&b, 3);
    onnx_int(&b, 1, 0);
    for (int i = 0; i < 3; i++) onnx_end(&b);
    REFUSE(&b, TORT_E_UNSUPPORTED, "initializer 0 \"w\"", "a tensor stored in segments");
    for (int raw = 0; raw < 2; raw++) {
        onnx_begin_model(&b, 17);
        onnx_begin_tensor(&b, GRAPH_INITIALIZER, "w", TORT_STRING, 0, NULL);
        onnx_text(&b, TENSOR_STRINGS, "one");
        if (raw) onnx_blob(&b, TENSOR_RAW, "more", 4);
        if (!raw) onnx_int(&b, TENSOR_LOCATION, 1);
        onnx_end(&b);
        onnx_end(&b);
        REFUSE(&b, TORT_E_MODEL, "initializer 0 \"w\"", raw ? "string_data has 1 strings" : "cannot be external data");
    }
}

/* Sizes of a sparse tensor whose sum, or whose product, is beyond all numbers. The parts are external data, which needs
 * no bytes in the file. */
Test(loader_sources, sparse_tensors_beyond_all_numbers) {
    static const struct {
        tort_type type;
        int64_t dense[2], values;
    } cases[] = {{TORT_INT8, {INT64_MAX, INT64_MAX}, 1},
                 {TORT_DOUBLE, {INT64_MAX / 4, 1}, 1},
                 {TORT_INT8, {INT64_MAX, 1}, INT64_MAX / 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tort_load_options options = {.struct_size = sizeof options, .external = give_zeros};
        onnx_bytes b = {0};
        tort_model *model = NULL;
        tort_error error = {0};
        onnx_begin_model(&b, 17);
        onnx_begin(&b, GRAPH_SPARSE);
        for (int part = 1; part <= 2; part++) {
            onnx_begin_tensor(&b, part, "w", part == 1 ? cases[i].type : TORT_INT64, 1, &cases[i].values);
            onnx_int(&b, TENSOR_LOCATION, 1);
            onnx_begin(&b, TENSOR_EXTERNAL);
            onnx_text(&b, 1, "location");
            onnx_text(&b, 2, "w.bin");
            onnx_end(&b);
            onnx_end(&b);
        }
        for (int d = 0; d < 2; d++) onnx_int(&b, 3, cases[i].dense[d]);
        onnx_end(&b);
        onnx_end(&b);
        cr_assert_eq(tort_model_load_buffer(NULL, b.data, b.size, &options, &model, &error), TORT_E_MODEL);
        cr_assert(strstr(error.msg, "more than 256 MiB once they are dense"), "%s", error.msg);
        onnx_free(&b);
    }
}

/* ---- readers and buffers ---------------------------------------------------------------------------------------- */

/* Bytes of a model, and behind them as many zeros as asked for. */
typedef struct long_model {
    onnx_bytes bytes;
    uint64_t read_up_to;
} long_model;

static int read_long(void *ud, uint64_t offset, uint64_t length, void *dst) {
    long_model *from = ud;
    memset(dst, 0, (size_t)length);
    if (offset < from->bytes.size) {
        const uint64_t left = from->bytes.size - offset;
        memcpy(dst, from->bytes.data + offset, (size_t)(length < left ? length : left));
    }
    if (offset + length > from->read_up_to) from->read_up_to = offset + length;
    return 0;
}

/* The tag and length of a field of so many bytes: the length of an int field is the int. */
static void begin_long_field(onnx_bytes *b, int field, uint64_t length) {
    onnx_bytes number = {0};
    onnx_text(b, field, "");
    b->size--; /* the length */
    onnx_int(&number, 1, (int64_t)length);
    onnx_raw(b, number.data + 1, number.size - 1);
    onnx_free(&number);
}

/* A field that nobody reads fills a model of as many bytes as a number can say. The limit of memory is then none, and
 * calls, which raise it, leave it so. */
Test(loader_sources, a_model_of_all_bytes_that_there_can_be) {
    long_model from = {.read_up_to = 0};
    tort_reader reader = {.struct_size = sizeof reader, .size = UINT64_MAX, .read = read_long, .ud = &from};
    tort_model *model = NULL;
    tort_error error = {0};
    cr_assert_eq(tort_load_limit(UINT64_MAX), SIZE_MAX);
    cr_assert_eq(tort_load_limit(0), TORT_LOAD_BASE);
    onnx_sample_model(&from.bytes);
    begin_long_field(&from.bytes, 900, UINT64_MAX - from.bytes.size - 12); /* two bytes of tag, ten of length */
    cr_assert_eq(tort_model_load_reader(NULL, &reader, NULL, &model, &error), TORT_OK, "%s", error.msg);
    cr_assert_lt(from.read_up_to, 1 << 20);
    tort_model_free(model);
    onnx_free(&from.bytes);
}

Test(loader_sources, an_allocation_fails_while_a_reader_is_loaded) {
    long_model from = {.read_up_to = 0};
    tort_status status = TORT_E_MEMORY;
    onnx_sample_model(&from.bytes);
    const tort_reader reader = {.struct_size = sizeof reader, .size = from.bytes.size, .read = read_long, .ud = &from};
    for (int64_t n = 1; status; n++) {
        tort_counting_env counting;
        tort_model *model = NULL;
        tort_counting_env_init(&counting);
        counting.fail_at = n;
        status = tort_model_load_reader(&counting.env, &reader, NULL, &model, NULL);
        cr_assert(!status || status == TORT_E_MEMORY, "allocation %lld: %s", (long long)n, tort_status_name(status));
        tort_model_free(model);
        cr_assert_eq(counting.live_blocks, 0);
        cr_assert_lt(n, 1000);
    }
    onnx_free(&from.bytes);
}

/* A text of 2 GiB, and texts that are more than 1 GiB together, are refused before they are read. */
Test(loader_sources, texts_that_are_too_long) {
    for (int two = 0; two < 2; two++) {
        long_model from = {.read_up_to = 0};
        const uint64_t length = two ? 1u << 30 : 1u << 31;
        tort_reader reader = {.struct_size = sizeof reader, .size = 2 * length, .read = read_long, .ud = &from};
        tort_model *model = NULL;
        tort_error error = {0};
        onnx_text(&from.bytes, MODEL_PRODUCER, "some bytes");
        begin_long_field(&from.bytes, MODEL_PRODUCER, length);
        cr_assert_eq(tort_model_load_reader(NULL, &reader, NULL, &model, &error), TORT_E_MODEL);
        cr_assert(strstr(error.msg, "the graph takes more than 1024 MiB"), "%s", error.msg);
        cr_assert_lt(from.read_up_to, 1 << 20);
        onnx_free(&from.bytes);
    }
}

Test(loader_sources, reads_outside_are_refused) {
    static _Alignas(TORT_HOST_ALIGN) char bytes[TORT_HOST_ALIGN + 8];
    const tort_env env = tort_env_complete(NULL);
    char dst[8];
    tort_source *source = NULL;
    tort_error error = {0};
    const tort_origin from = {.bytes = bytes, .size = sizeof bytes};
    cr_assert_eq(tort_source_open(&env, &from, NULL, &source, &error), TORT_OK);
    cr_assert_eq(tort_source_read(source, 0, sizeof bytes, 0, dst, &error), TORT_OK);
    cr_assert_eq(tort_source_read(source, 0, sizeof bytes + 1, 0, dst, &error), TORT_E_MODEL);
    cr_assert_eq(tort_source_read(source, 0, sizeof bytes - 7, 8, dst, &error), TORT_E_MODEL);
    cr_assert(strstr(error.msg, "are outside the model"), "%s", error.msg);
    cr_assert_eq(tort_source_view(source, 0, 0, sizeof bytes), bytes);
    cr_assert_eq(tort_source_view(source, 0, TORT_HOST_ALIGN, 8), bytes + TORT_HOST_ALIGN);
    cr_assert_null(tort_source_view(source, 0, 8, 8)); /* not aligned */
    cr_assert_null(tort_source_view(source, 0, TORT_HOST_ALIGN, 9));
    cr_assert_null(tort_source_view(source, 0, 2 * TORT_HOST_ALIGN, 0));
    tort_source_close(source);
}

Test(loader_sources, arguments_that_are_missing) {
    tort_model *model = NULL;
    tort_error error = {0};
    const tort_reader reader = {.struct_size = sizeof reader, .read = read_long};
    const tort_reader old = {.struct_size = offsetof(tort_reader, read)};
    cr_assert_eq(tort_model_load(NULL, NULL, NULL, &model, &error), TORT_E_USAGE);
    cr_assert_eq(tort_model_load(NULL, "x", NULL, NULL, &error), TORT_E_USAGE);
    cr_assert_eq(tort_model_load_buffer(NULL, NULL, 1, NULL, &model, &error), TORT_E_USAGE);
    cr_assert_eq(tort_model_load_buffer(NULL, "", 0, NULL, NULL, &error), TORT_E_USAGE);
    cr_assert_eq(tort_model_load_reader(NULL, &reader, NULL, NULL, &error), TORT_E_USAGE);
    cr_assert_eq(tort_model_load_reader(NULL, &old, NULL, &model, &error), TORT_E_USAGE);
    cr_assert(strstr(error.msg, "has no function"), "%s", error.msg);
}

/* ---- bytes that change ------------------------------------------------------------------------------------------ */

/* Data in pieces is decoded when the model is loaded: first a pass goes over all fields, and then another over those of
 * the tensor, which finds what is there by then. */
typedef struct changing_model {
    onnx_bytes first;
    const onnx_bytes *later; /* NULL: it cannot be read any more */
    int reads;
} changing_model;

static int read_changing(void *ud, uint64_t offset, uint64_t length, void *dst) {
    changing_model *from = ud;
    const onnx_bytes *now = from->reads++ ? from->later : &from->first;
    if (!now) return -1;
    memcpy(dst, now->data + offset, (size_t)length);
    return 0;
}

/* A tensor of three floats, in one field or in several, and its name between them. */
static void in_pieces(onnx_bytes *b, int second, int third) {
    onnx_begin_model(b, 17);
    onnx_begin_tensor(b, GRAPH_INITIALIZER, "", TORT_FLOAT, 1, three);
    onnx_blob(b, TENSOR_FLOATS, "0123", 4);
    onnx_blob(b, second, "012345", 6);
    onnx_blob(b, third, "01234567", 8);
    onnx_end(b);
    onnx_end(b);
}

static void expect_later(onnx_bytes *later, tort_status expected, const char *words) {
    changing_model from = {.later = later};
    tort_model *model = NULL;
    tort_error error = {.msg = ""};
    in_pieces(&from.first, TENSOR_NAME, TENSOR_FLOATS);
    const tort_reader reader = {
        .struct_size = sizeof reader, .size = from.first.size, .read = read_changing, .ud = &from};
    cr_assert_eq(tort_model_load_reader(NULL, &reader, NULL, &model, &error), expected, "%s", error.msg);
    cr_assert(strstr(error.msg, words), "\"%s\" is not in: %s", words, error.msg);
    cr_assert_eq(from.reads, 2);
    tort_model_free(model);
    onnx_free(&from.first);
    if (later) onnx_free(later);
}

Test(loader_sources, a_model_that_changes_while_it_is_loaded) {
    onnx_bytes b = {0};
    in_pieces(&b, TENSOR_NAME, TENSOR_FLOATS);
    expect_later(&b, TORT_OK, "");
    in_pieces(&b, TENSOR_FLOATS, TENSOR_NAME);
    expect_later(&b, TORT_E_IO, "the model has changed since it was opened");
    in_pieces(&b, TENSOR_FLOATS, TENSOR_FLOATS);
    expect_later(&b, TORT_E_IO, "the model has changed since it was opened");
    in_pieces(&b, TENSOR_NAME, TENSOR_NAME);
    expect_later(&b, TORT_E_IO, "the model has changed since it was opened");
    in_pieces(&b, TENSOR_NAME, TENSOR_FLOATS);
    memset(b.data, 0, b.size);
    expect_later(&b, TORT_E_MODEL, "not a field of a protobuf message");
    expect_later(NULL, TORT_E_IO, "the application's reader gave no");
}
