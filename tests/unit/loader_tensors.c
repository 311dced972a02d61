/* Tests of loader/tensors.c, sparse.c, source.c and external_data.c: where weights are, what they hold, and every way
 * in which an external file may be out of bounds. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/folder.h"
#include "tests/unit/loading.h"

static const int64_t two[] = {2};

/* The only weight of the model must hold these bytes. */
static void expect_bytes(onnx_bytes *b, const void *bytes, size_t size) {
    tort_model *model = load_model(b);
    const void *data;
    tort_error error = {0};
    cr_assert_eq(model->weight_count, 1);
    cr_assert_eq(model->weights[0].bytes, size);
    cr_assert_eq(tort_weight_acquire(model, 0, &data, &error), TORT_OK, "%s", error.msg);
    cr_assert_arr_eq(data, bytes, size);
    tort_weight_release(model, 0);
    tort_model_free(model);
    onnx_free(b);
}

/* One tensor of three elements, its data in `field`. */
static void typed(onnx_bytes *b, tort_type type, int field, const void *bytes, size_t size) {
    onnx_begin_model(b, 17);
    onnx_begin_tensor(b, GRAPH_INITIALIZER, "w", type, 1, three);
    onnx_blob(b, field, bytes, size);
    onnx_end(b);
    onnx_end(b);
}

Test(loader_tensors, raw_data_of_every_type) {
    for (int type = 1; type < TORT_TYPE_COUNT; type++) {
        if (type == TORT_STRING) continue;
        onnx_bytes b = {0};
        uint8_t bytes[48];
        size_t size = ((size_t)tort_type_bits((tort_type)type) * 3 + 7) / 8;
        for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 37 + 1);
        typed(&b, (tort_type)type, TENSOR_RAW, bytes, size);
        expect_bytes(&b, bytes, size);
        typed(&b, (tort_type)type, TENSOR_RAW, bytes, size - 1);
        REFUSE(&b, TORT_E_MODEL, "initializer 0 \"w\"", "its type and dimensions ask for");
    }
}

Test(loader_tensors, typed_data) {
    onnx_bytes b = {0};
    const float floats[] = {1.5f, -2, 3, 4, 5, 6};
    const double doubles[] = {1.5, -2, 3, 4, 5, 6};
    typed(&b, TORT_FLOAT, TENSOR_FLOATS, floats, 12);
    expect_bytes(&b, floats, 12);
    typed(&b, TORT_COMPLEX64, TENSOR_FLOATS, floats, 24);
    expect_bytes(&b, floats, 24);
    typed(&b, TORT_DOUBLE, TENSOR_DOUBLES, doubles, 24);
    expect_bytes(&b, doubles, 24);
    typed(&b, TORT_COMPLEX128, TENSOR_DOUBLES, doubles, 48);
    expect_bytes(&b, doubles, 48);
    /* 1, 300, -2 as varints: a negative int32 takes ten bytes */
    const char varints[] = "\x01\xac\x02\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01";
    typed(&b, TORT_INT64, TENSOR_INT64S, varints, 13);
    expect_bytes(&b, (const int64_t[]){1, 300, -2}, 24);
    typed(&b, TORT_UINT64, TENSOR_UINT64S, varints, 13);
    expect_bytes(&b, (const int64_t[]){1, 300, -2}, 24);
    typed(&b, TORT_INT32, TENSOR_INT32S, varints, 13);
    expect_bytes(&b, (const int32_t[]){1, 300, -2}, 12);
    typed(&b, TORT_INT16, TENSOR_INT32S, varints, 13);
    expect_bytes(&b, (const int16_t[]){1, 300, -2}, 6);
    typed(&b, TORT_FLOAT16, TENSOR_INT32S, "\x80\x78\x00\x01", 4); /* 0x3c00, 0, 1 */
    expect_bytes(&b, (const uint16_t[]){0x3c00, 0, 1}, 6);
    typed(&b, TORT_UINT32, TENSOR_UINT64S, "\x01\xac\x02\x03", 4);
    expect_bytes(&b, (const uint32_t[]){1, 300, 3}, 12);
    typed(&b, TORT_INT4, TENSOR_INT32S, "\x21\x03", 2);
    expect_bytes(&b, "\x21\x03", 2);
    typed(&b, TORT_UINT2, TENSOR_INT32S, "\x39", 1);
    expect_bytes(&b, "\x39", 1);
    typed(&b, TORT_FLOAT6E2M3, TENSOR_INT32S, "\x3f\x01\x21", 3); /* one varint an element, packed in memory */
    expect_bytes(&b, "\x7f\x10\x02", 3);
}

Test(loader_tensors, typed_data_that_is_wrong) {
    onnx_bytes b = {0};
    typed(&b, TORT_FLOAT, TENSOR_FLOATS, "12345678", 8);
    REFUSE(&b, TORT_E_MODEL, "float_data has 8 bytes", "12");
    typed(&b, TORT_INT64, TENSOR_FLOATS, "123456789012", 12);
    REFUSE(&b, TORT_E_MODEL, "int64 data is in float_data", "int64_data");
    typed(&b, TORT_INT64, TENSOR_INT64S, "\x01\x02", 2);
    REFUSE(&b, TORT_E_MODEL, "int64_data has 2 bytes");
    typed(&b, TORT_INT64, TENSOR_INT64S, "\x01\x02\x03\x04", 4); /* found out when it is read */
    tort_model *model = load_model(&b);
    const void *data;
    cr_assert_eq(tort_weight_acquire(model, 0, &data, NULL), TORT_E_MODEL);
    tort_model_free(model);
    onnx_free(&b);
    onnx_begin_model(&b, 17);
    onnx_begin_tensor(&b, GRAPH_INITIALIZER, "w", TORT_FLOAT, 1, three);
    onnx_end(&b);
    onnx_end(&b);
    REFUSE(&b, TORT_E_MODEL, "no data");
    onnx_begin_model(&b, 17);
    onnx_begin_tensor(&b, GRAPH_INITIALIZER, "w", TORT_FLOAT, 1, three);
    onnx_blob(&b, TENSOR_RAW, "123456789012", 12);
    onnx_blob(&b, TENSOR_FLOATS, "123456789012", 12);
    onnx_end(&b);
    onnx_end(&b);
    REFUSE(&b, TORT_E_MODEL, "raw_data and in float_data");
    onnx_begin_model(&b, 17);
    onnx_begin_tensor(&b, GRAPH_INITIALIZER, "w", (tort_type)77, 1, three);
    onnx_end(&b);
    onnx_end(&b);
    REFUSE(&b, TORT_E_MODEL, "data_type 77");
}

Test(loader_tensors, data_one_element_at_a_time) {
    onnx_bytes b = {0};
    onnx_begin_model(&b, 17);
    onnx_begin_tensor(&b, GRAPH_INITIALIZER, "w", TORT_INT64, 1, three);
    for (int64_t i = 0; i < 3; i++) onnx_int(&b, TENSOR_INT64S, i - 1);
    onnx_end(&b);
    onnx_end(&b);
    expect_bytes(&b, (const int64_t[]){-1, 0, 1}, 24);
    onnx_begin_model(&b, 17);
    onnx_begin_tensor(&b, GRAPH_INITIALIZER, "w", TORT_FLOAT, 1, three);
    for (int i = 0; i < 3; i++) onnx_float(&b, TENSOR_FLOATS, (float)i);
    onnx_end(&b);
    onnx_end(&b);
    expect_bytes(&b, (const float[]){0, 1, 2}, 12);
}

/* More than one window of the reader, with numbers of one to ten bytes across its edges. */
Test(loader_tensors, many_varints) {
    enum { COUNT = 40000 };
    onnx_bytes b = {0}, packed = {0}, number = {0};
    int64_t *numbers = malloc(COUNT * sizeof *numbers);
    cr_assert(numbers);
    for (int i = 0; i < COUNT; i++) {
        numbers[i] = (int64_t)((uint64_t)i * 0x9e3779b97f4a7c15u >> i % 64);
        number.size = 0;
        onnx_int(&number, 1, numbers[i]);
        onnx_raw(&packed, number.data + 1, number.size - 1);
    }
    onnx_begin_model(&b, 17);
    onnx_begin_tensor(&b, GRAPH_INITIALIZER, "w", TORT_INT64, 1, (const int64_t[]){COUNT});
    onnx_blob(&b, TENSOR_INT64S, packed.data, packed.size);
    onnx_end(&b);
    onnx_end(&b);
    cr_assert_gt(b.size, 3 << 16);
    expect_bytes(&b, numbers, COUNT * sizeof *numbers);
    onnx_free(&packed);
    onnx_free(&number);
    free(numbers);
}

Test(loader_tensors, sizes_that_overflow) {
    static const int64_t shapes[][3] = {{INT64_MAX, 2, 1},
                                        {INT64_MAX, 1, 1},
                                        {(int64_t)1 << 62, 2, 1},
                                        {(int64_t)1 << 31, (int64_t)1 << 31, 4},
                                        {(int64_t)1 << 62, (int64_t)1 << 62, 0},
                                        {-1, 3, 1},
                                        {INT64_MIN, 1, 1}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (int type = 1; type < TORT_TYPE_COUNT; type++) {
            onnx_bytes b = {0};
            onnx_begin_model(&b, 17);
            onnx_tensor(&b, GRAPH_INITIALIZER, "w", (tort_type)type, 3, shapes[i], "12345678", 8);
            onnx_end(&b);
            REFUSE(&b, TORT_E_MODEL, "initializer 0");
        }
    }
}

Test(loader_tensors, strings_keep_their_bytes) {
    onnx_bytes b = {0};
    onnx_begin_model(&b, 17);
    onnx_begin_tensor(&b, GRAPH_INITIALIZER, "w", TORT_STRING, 1, three);
    onnx_text(&b, TENSOR_STRINGS, "one");
    onnx_blob(&b, TENSOR_STRINGS, "a\0b", 3);
    onnx_text(&b, TENSOR_STRINGS, "");
    onnx_end(&b);
    onnx_end(&b);
    tort_model *model = load_model(&b);
    memset(b.data, 'x', b.size); /* the model does not look there again */
    const void *data;
    cr_assert_eq(tort_weight_acquire(model, 0, &data, NULL), TORT_OK);
    const tort_string *strings = data;
    cr_assert_eq(strings[0].length, 3);
    cr_assert_arr_eq(strings[1].data, "a\0b", 3);
    cr_assert_eq(strings[2].length, 0);
    tort_model_free(model);
    onnx_free(&b);
}

Test(loader_tensors, empty_and_scalar) {
    onnx_bytes b = {0};
    onnx_begin_model(&b, 17);
    onnx_begin_tensor(&b, GRAPH_INITIALIZER, "w", TORT_FLOAT, 1, (const int64_t[]){0});
    onnx_end(&b);
    onnx_end(&b);
    expect_bytes(&b, "", 0);
    onnx_begin_model(&b, 17);
    onnx_tensor(&b, GRAPH_INITIALIZER, "w", TORT_INT8, 0, NULL, "\x05", 1);
    onnx_end(&b);
    expect_bytes(&b, "\x05", 1);
}

/* ---- sparse ----------------------------------------------------------------------------------------------------- */

static void sparse(onnx_bytes *b, int rank, const int64_t *dims, int index_rank, const int64_t *index_dims,
                   const int64_t *indices, size_t index_bytes) {
    onnx_begin_model(b, 17);
    onnx_begin(b, GRAPH_SPARSE);
    onnx_tensor(b, 1, "w", TORT_INT8, 1, two, "\x07\x09", 2);
    onnx_tensor(b, 2, "", TORT_INT64, index_rank, index_dims, indices, index_bytes);
    for (int i = 0; i < rank; i++) onnx_int(b, 3, dims[i]);
    onnx_end(b);
    onnx_end(b);
}

Test(loader_tensors, sparse_tensors_are_expanded) {
    onnx_bytes b = {0};
    const int64_t shape[] = {2, 3}, pairs[] = {2, 2}, linear[] = {1, 5}, coordinates[] = {0, 1, 1, 2};
    sparse(&b, 2, shape, 1, two, linear, sizeof linear);
    expect_bytes(&b, "\0\x07\0\0\0\x09", 6);
    sparse(&b, 2, shape, 2, pairs, coordinates, sizeof coordinates);
    expect_bytes(&b, "\0\x07\0\0\0\x09", 6);
}

Test(loader_tensors, sparse_tensors_that_are_wrong) {
    onnx_bytes b = {0};
    const int64_t shape[] = {2, 3}, pairs[] = {2, 2};
    static const int64_t bad_linear[][2] = {{1, 6}, {-1, 2}, {3, 3}, {4, 2}, {INT64_MIN, INT64_MAX}};
    for (size_t i = 0; i < sizeof bad_linear / sizeof *bad_linear; i++) {
        sparse(&b, 2, shape, 1, two, bad_linear[i], sizeof bad_linear[i]);
        REFUSE(&b, TORT_E_MODEL, "sparse_initializer 0 \"w\"", "indices");
    }
    sparse(&b, 2, shape, 2, pairs, (const int64_t[]){0, 0, 0, 3}, 32);
    REFUSE(&b, TORT_E_MODEL, "indices: entry 1 is outside");
    sparse(&b, 2, shape, 1, three, (const int64_t[]){0, 1, 2}, 24);
    REFUSE(&b, TORT_E_MODEL, "indices must be int64");
    sparse(&b, 2, (const int64_t[]){1 << 20, 1 << 20}, 1, two, (const int64_t[]){0, 1}, 16);
    REFUSE(&b, TORT_E_MODEL, "MiB once they are dense");
    onnx_begin_model(&b, 17);
    onnx_begin(&b, GRAPH_SPARSE);
    onnx_end(&b);
    onnx_end(&b);
    REFUSE(&b, TORT_E_MODEL, "sparse tensor without values");
}

/* values and indices of any type and shape, and of external data; of a tensor of 2 x 3. */
static void sparse_parts(onnx_bytes *b, tort_type type, int rank, tort_type index_type, int index_rank,
                         const int64_t *index_dims, bool external) {
    onnx_begin_model(b, 17);
    onnx_begin(b, GRAPH_SPARSE);
    for (int part = 1; part <= 2; part++) {
        const tort_type its = part == 1 ? type : index_type;
        onnx_begin_tensor(b, part, "w", its, part == 1 ? rank : index_rank, part == 1 ? three : index_dims);
        const size_t bytes = (size_t)tort_type_bits(its) * (part == 1 && rank == 0 ? 1 : 3) / 8;
        static const char zeros[64];
        if (its == TORT_STRING)
            for (int i = 0; i < 3; i++) onnx_text(b, TENSOR_STRINGS, "s");
        else if (!external)
            onnx_blob(b, TENSOR_RAW, zeros, its == TORT_INT4 ? 2 : part == 2 && index_rank == 0 ? 8 : bytes);
        if (external) onnx_int(b, TENSOR_LOCATION, 1);
        if (external) onnx_begin(b, TENSOR_EXTERNAL);
        if (external) onnx_text(b, 1, "location");
        if (external) onnx_text(b, 2, part == 1 ? "values" : "indices");
        if (external) onnx_end(b);
        onnx_end(b);
    }
    onnx_int(b, 3, 2);
    onnx_int(b, 3, 3);
    onnx_end(b);
    onnx_end(b);
}

Test(loader_tensors, sparse_tensors_of_parts_that_do_not_fit) {
    onnx_bytes b = {0};
    const int64_t rows[] = {3, 1}, cube[] = {3, 1, 1};
    sparse_parts(&b, TORT_STRING, 1, TORT_INT64, 1, three, false);
    REFUSE(&b, TORT_E_UNSUPPORTED, "a sparse tensor of string");
    sparse_parts(&b, TORT_INT4, 1, TORT_INT64, 1, three, false);
    REFUSE(&b, TORT_E_UNSUPPORTED, "a sparse tensor of int4");
    sparse_parts(&b, TORT_INT8, 0, TORT_INT64, 1, three, false);
    REFUSE(&b, TORT_E_MODEL, "values have rank 0, not 1");
    sparse_parts(&b, TORT_INT8, 1, TORT_INT32, 1, three, false);
    REFUSE(&b, TORT_E_MODEL, "indices must be int64");
    sparse_parts(&b, TORT_INT8, 1, TORT_INT64, 0, NULL, false);
    REFUSE(&b, TORT_E_MODEL, "indices must be int64");
    sparse_parts(&b, TORT_INT8, 1, TORT_INT64, 2, rows, false);
    REFUSE(&b, TORT_E_MODEL, "indices must be int64");
    sparse_parts(&b, TORT_INT8, 1, TORT_INT64, 3, cube, false);
    REFUSE(&b, TORT_E_MODEL, "indices must be int64");
    const int64_t shape[] = {2, 3}, pairs[] = {2, 2};
    sparse(&b, 2, shape, 2, pairs, (const int64_t[]){0, 0, -1, 3}, 32);
    REFUSE(&b, TORT_E_MODEL, "indices: entry 1 is outside");
}

/* The first so many of the parts can be read. */
static int give_ascending(void *ud, const char *location, uint64_t offset, uint64_t length, void *dst) {
    const int64_t indices[] = {0, 2, 4};
    int *left = ud;
    (void)offset;
    memset(dst, 7, (size_t)length);
    if (strcmp(location, "indices") == 0) memcpy(dst, indices, sizeof indices);
    return --*left < 0;
}

Test(loader_tensors, sparse_tensors_of_external_data) {
    for (int given = 0; given < 3; given++) {
        onnx_bytes b = {0};
        tort_model *model = NULL;
        const void *data;
        int left = given;
        const tort_load_options options = {
            .struct_size = sizeof options, .external = give_ascending, .external_ud = &left};
        sparse_parts(&b, TORT_INT8, 1, TORT_INT64, 1, three, true);
        cr_assert_eq(tort_model_load_buffer(NULL, b.data, b.size, &options, &model, NULL),
                     given == 2 ? TORT_OK : TORT_E_IO);
        if (model) cr_assert_eq(tort_weight_acquire(model, 0, &data, NULL), TORT_OK);
        if (model) cr_assert_arr_eq(data, "\7\0\7\0\7\0", 6);
        if (model) tort_weight_release(model, 0);
        tort_model_free(model);
        onnx_free(&b);
    }
}

/* ---- external data ---------------------------------------------------------------------------------------------- */

static void external_entry(onnx_bytes *b, const char *key, const char *value) {
    onnx_begin(b, TENSOR_EXTERNAL);
    onnx_text(b, 1, key);
    onnx_text(b, 2, value);
    onnx_end(b);
}

/* A model whose only weight is three floats of `location`; offset or length may be NULL. */
static void external_model(onnx_bytes *b, const char *location, const char *offset, const char *length) {
    onnx_begin_model(b, 17);
    onnx_begin_tensor(b, GRAPH_INITIALIZER, "w", TORT_FLOAT, 1, three);
    onnx_int(b, TENSOR_LOCATION, 1);
    if (location) external_entry(b, "location", location);
    if (offset) external_entry(b, "offset", offset);
    if (length) external_entry(b, "length", length);
    onnx_end(b);
    onnx_end(b);
}

static tort_status load_external(const char *location, const char *offset, const char *length,
                                 const tort_load_options *options, tort_model **model, tort_error *error) {
    onnx_bytes b = {0};
    external_model(&b, location, offset, length);
    write_file("model.onnx", b.data, b.size);
    onnx_free(&b);
    return tort_model_load(NULL, in_folder("model.onnx"), options, model, error);
}

static void expect_external(const char *location, const char *offset, const tort_load_options *options,
                            const float *floats) {
    tort_model *model = NULL;
    tort_error error = {0};
    const void *data;
    cr_assert_eq(load_external(location, offset, NULL, options, &model, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_weight_acquire(model, 0, &data, &error), TORT_OK, "%s", error.msg);
    cr_assert_arr_eq(data, floats, 3 * sizeof *floats);
    tort_weight_release(model, 0);
    tort_model_free(model);
}

static void refuse_external(const char *location, const char *offset, const char *length, const char *word) {
    tort_model *model = NULL;
    tort_error error = {0};
    tort_status status = load_external(location, offset, length, NULL, &model, &error);
    cr_assert(status == TORT_E_MODEL || status == TORT_E_IO, "%s: %s", tort_status_name(status), error.msg);
    cr_assert(strstr(error.msg, word), "\"%s\" is not in: %s", word, error.msg);
    cr_assert(strstr(error.msg, "initializer 0 \"w\""), "%s", error.msg);
}

static const float numbers[] = {1, 2, 3, 4, 5};

Test(loader_external, inside_the_folder, .init = make_folder, .fini = remove_folder) {
    write_file("w.bin", numbers, sizeof numbers);
    expect_external("w.bin", NULL, NULL, numbers);
    expect_external("w.bin", "4", NULL, numbers + 1);
    expect_external("./w.bin", "8", NULL, numbers + 2);
    cr_assert_eq(mkdir(in_folder("sub"), 0700), 0);
    write_file("sub/w.bin", numbers, sizeof numbers);
    expect_external("sub//w.bin", NULL, NULL, numbers);
}

Test(loader_external, mapped, .init = make_folder, .fini = remove_folder) {
    uint8_t bytes[8192] = {0};
    memcpy(bytes + 128, numbers, sizeof numbers);
    write_file("w.bin", bytes, sizeof bytes);
    tort_load_options options = {.struct_size = sizeof options, .map_external = true};
    expect_external("w.bin", "128", &options, numbers);
    expect_external("w.bin", "132", &options, numbers + 1); /* not aligned: read */
    memcpy(bytes + sizeof bytes - 64, numbers, sizeof numbers);
    write_file("w.bin", bytes, sizeof bytes);
    expect_external("w.bin", "8128", &options, numbers); /* nothing readable behind it: read */
}

Test(loader_external, outside_the_file, .init = make_folder, .fini = remove_folder) {
    write_file("w.bin", numbers, sizeof numbers);
    refuse_external("w.bin", "12", NULL, "not in the file");
    refuse_external("w.bin", "18446744073709551615", NULL, "not in the file");
    refuse_external("w.bin", "18446744073709551616", NULL, "offset");
    refuse_external("w.bin", "9223372036854775807", "12", "not in the file");
    refuse_external("w.bin", "-4", NULL, "offset is \"-4\"");
    refuse_external("w.bin", "4x", NULL, "offset");
    refuse_external("w.bin", "", NULL, "offset is empty");
    refuse_external("w.bin", NULL, "13", "length is 13");
    refuse_external("gone.bin", NULL, NULL, "missing");
    refuse_external(NULL, NULL, NULL, "no location");
    refuse_external("", NULL, NULL, "empty location");
}

Test(loader_external, outside_the_folder, .init = make_folder, .fini = remove_folder) {
    write_file("w.bin", numbers, sizeof numbers);
    cr_assert_eq(mkdir(in_folder("sub"), 0700), 0);
    refuse_external("../w.bin", NULL, NULL, "leaves the model's folder");
    refuse_external("sub/../w.bin", NULL, NULL, "leaves the model's folder");
    refuse_external("sub/..", NULL, NULL, "leaves the model's folder");
    refuse_external("/etc/passwd", NULL, NULL, "absolute");
    refuse_external("sub", NULL, NULL, "not a regular file");
    refuse_external("w.bin/", NULL, NULL, "names a folder");
    refuse_external("w.bin/x", NULL, NULL, "w.bin/x");
    cr_assert_eq(mkfifo(in_folder("pipe"), 0600), 0);
    refuse_external("pipe", NULL, NULL, "not a regular file");
}

Test(loader_external, links, .init = make_folder, .fini = remove_folder) {
    char target[256];
    write_file("w.bin", numbers, sizeof numbers);
    strcpy(target, in_folder("w.bin"));
    cr_assert_eq(symlink("w.bin", in_folder("soft.bin")), 0);
    refuse_external("soft.bin", NULL, NULL, "symbolic link");
    refuse_external("soft.bin", NULL, NULL, "allow_links");
    cr_assert_eq(mkdir(in_folder("sub"), 0700), 0);
    write_file("sub/w.bin", numbers, sizeof numbers);
    cr_assert_eq(symlink("sub", in_folder("softsub")), 0);
    refuse_external("softsub/w.bin", NULL, NULL, "symbolic link");
    cr_assert_eq(symlink("/etc", in_folder("etc")), 0);
    refuse_external("etc/passwd", NULL, NULL, "symbolic link");
    tort_load_options options = {.struct_size = sizeof options, .allow_links = true};
    expect_external("soft.bin", "4", &options, numbers + 1);
    expect_external("softsub/w.bin", "4", &options, numbers + 1);
    cr_assert_eq(link(target, in_folder("hard.bin")), 0);
    refuse_external("hard.bin", NULL, NULL, "several links");
    refuse_external("w.bin", NULL, NULL, "several links");
    expect_external("hard.bin", NULL, &options, numbers);
}

Test(loader_external, a_file_that_is_exchanged_is_noticed, .init = make_folder, .fini = remove_folder) {
    tort_model *model = NULL;
    tort_error error = {0};
    const void *data;
    write_file("w.bin", numbers, sizeof numbers);
    cr_assert_eq(load_external("w.bin", NULL, NULL, NULL, &model, &error), TORT_OK, "%s", error.msg);
    write_file("other.bin", numbers, sizeof numbers);
    char other[256];
    strcpy(other, in_folder("other.bin"));
    cr_assert_eq(rename(other, in_folder("w.bin")), 0);
    cr_assert_eq(tort_weight_acquire(model, 0, &data, &error), TORT_E_IO);
    cr_assert(strstr(error.msg, "replaced"), "%s", error.msg);
    write_file("w.bin", numbers, 4);
    cr_assert_eq(tort_weight_acquire(model, 0, &data, &error), TORT_E_IO);
    tort_model_free(model);
}

Test(loader_external, a_file_that_is_written_in_place_is_noticed, .init = make_folder, .fini = remove_folder) {
    const float others[sizeof numbers / sizeof(float)] = {0};
    for (int round = 0; round < 2; round++) {
        tort_model *model = NULL;
        tort_error error = {0};
        const void *data;
        struct stat before;
        write_file("w.bin", numbers, sizeof numbers);
        cr_assert_eq(load_external("w.bin", NULL, NULL, NULL, &model, &error), TORT_OK, "%s", error.msg);
        cr_assert_eq(stat(in_folder("w.bin"), &before), 0);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); /* longer than a tick of the file system's clock */
        write_file("w.bin", others, sizeof others);
        const struct timespec times[] = {before.st_atim, before.st_mtim}; /* the second time the writer hides it */
        if (round) cr_assert_eq(utimensat(AT_FDCWD, in_folder("w.bin"), times, 0), 0);
        cr_assert_eq(tort_weight_acquire(model, 0, &data, &error), TORT_E_IO);
        cr_assert(strstr(error.msg, "written since"), "%s", error.msg);
        tort_model_free(model);
    }
}

/* A file is read through a window, a buffer is not: both must give the same model. */
Test(loader_external, a_large_graph_in_a_file, .init = make_folder, .fini = remove_folder) {
    enum { COUNT = 20000 };
    onnx_bytes b = {0};
    onnx_begin_model(&b, 17);
    for (int i = 0; i < COUNT; i++) {
        char name[64], node[64];
        snprintf(name, sizeof name, "value/%d", i);
        snprintf(node, sizeof node, "node:%d.%.*s", i, i % 40, "........................................");
        onnx_begin_node(&b, GRAPH_NODE, "Constant", node, "", name);
        onnx_begin_attribute(&b, "value", 4);
        onnx_tensor(&b, ATTR_T, "", TORT_INT32, 0, NULL, &i, 4);
        onnx_end(&b);
        onnx_blob(&b, 9, "stack trace", 11);
        onnx_end(&b);
    }
    onnx_value(&b, GRAPH_OUTPUT, "value/7", TORT_INT32, 0, NULL);
    onnx_end(&b);
    write_file("model.onnx", b.data, b.size);
    tort_model *models[2];
    cr_assert_eq(tort_model_load(NULL, in_folder("model.onnx"), NULL, &models[0], NULL), TORT_OK);
    cr_assert_eq(tort_model_load_buffer(NULL, b.data, b.size, NULL, &models[1], NULL), TORT_OK);
    for (int i = 0; i < COUNT; i++) {
        cr_assert_str_eq(models[0]->graphs[0].nodes[i].name, models[1]->graphs[0].nodes[i].name);
        for (int m = 0; m < 2; m++) {
            const void *data;
            cr_assert_eq(tort_weight_acquire(models[m], i, &data, NULL), TORT_OK);
            cr_assert_eq(*(const int32_t *)data, i);
            tort_weight_release(models[m], i);
        }
    }
    tort_model_free(models[0]);
    tort_model_free(models[1]);
    onnx_free(&b);
}

static int give(void *ud, const char *location, uint64_t offset, uint64_t length, void *dst) {
    if (strcmp(location, "w.bin") != 0 || offset + length > sizeof numbers) return -1;
    memcpy(dst, (const char *)ud + offset, (size_t)length);
    return 0;
}

Test(loader_external, of_a_model_in_memory) {
    onnx_bytes b = {0};
    float copy[5];
    memcpy(copy, numbers, sizeof copy);
    tort_load_options options = {.struct_size = sizeof options, .external = give, .external_ud = copy};
    tort_model *model;
    tort_error error = {0};
    const void *data;
    external_model(&b, "w.bin", "8", NULL);
    cr_assert_eq(tort_model_load_buffer(NULL, b.data, b.size, &options, &model, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_weight_acquire(model, 0, &data, &error), TORT_OK, "%s", error.msg);
    cr_assert_arr_eq(data, numbers + 2, 12);
    tort_weight_release(model, 0);
    tort_model_free(model);
    onnx_free(&b);
    external_model(&b, "w.bin", "12", NULL);
    cr_assert_eq(tort_model_load_buffer(NULL, b.data, b.size, &options, &model, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_weight_acquire(model, 0, &data, &error), TORT_E_IO);
    tort_model_free(model);
    onnx_free(&b);
    external_model(&b, "../w.bin", NULL, NULL);
    REFUSE(&b, TORT_E_MODEL, "tort_load_options.external");
    external_model(&b, "../w.bin", NULL, NULL);
    cr_assert_eq(tort_model_load_buffer(NULL, b.data, b.size, &options, &model, &error), TORT_E_MODEL);
    onnx_free(&b);
}
