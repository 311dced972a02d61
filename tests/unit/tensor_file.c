/* Tests of runtime/cli/files/tensor_file.c and npy.c: every type there and back, what NumPy writes, and files that lie.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cli/files/npy.h"
#include "runtime/cli/files/tensor_file.h"
#include "tests/counting_env.h"

static char path[64];

static const char *temporary(const char *ending) {
    snprintf(path, sizeof path, "/tmp/tinyort_tensor_%ld%s", (long)getpid(), ending);
    return path;
}

static void round_trip(const tort_tensor *tensor, const char *ending, tort_tensor *back) {
    tort_error error = {0};
    const char *file = temporary(ending);
    cr_assert_eq(tort_tensor_file_write(file, "name", tensor, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_tensor_file_read(NULL, file, back, &error), TORT_OK, "%s", error.msg);
    remove(file);
    cr_assert_eq(back->rank, tensor->rank);
    cr_assert_arr_eq(back->dims, tensor->dims, sizeof tensor->dims);
    cr_assert_eq((uintptr_t)back->data % 64, 0);
}

Test(tensor_file, every_type_there_and_back) {
    uint8_t bytes[6 * 16];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 29 + 3);
    for (int type = 1; type < TORT_TYPE_COUNT; type++) {
        if (type == TORT_STRING) continue;
        tort_tensor tensor = {.type = (tort_type)type, .rank = 2, .dims = {2, 3}, .data = bytes}, back;
        size_t size;
        cr_assert(tort_tensor_bytes(&tensor, &size));
        round_trip(&tensor, ".pb", &back);
        cr_assert_eq(back.type, tensor.type);
        cr_assert_arr_eq(back.data, bytes, size);
        tort_tensor_file_free(NULL, &back);
        round_trip(&tensor, ".npy", &back);
        int bits = tort_type_bits(tensor.type);
        if (bits >= 8) cr_assert_arr_eq(back.data, bytes, size);
        if (bits < 8) { /* unpacked: element 1 */
            cr_assert_eq(back.type, TORT_UINT8);
            unsigned word = (unsigned)bytes[0] | (unsigned)bytes[1] << 8;
            cr_assert_eq(((uint8_t *)back.data)[1], word >> bits & ((1u << bits) - 1));
        }
        tort_tensor_file_free(NULL, &back);
    }
}

Test(tensor_file, strings) {
    tort_string strings[] = {{"one", 3}, {"", 0}, {"\xe6\x97\xa5\xe6\x9c\xac", 6}};
    tort_tensor tensor = {.type = TORT_STRING, .rank = 1, .dims = {3}, .data = strings}, back;
    for (int pass = 0; pass < 2; pass++) {
        round_trip(&tensor, pass ? ".pb" : ".npy", &back);
        const tort_string *read = back.data;
        for (int i = 0; i < 3; i++) {
            cr_assert_eq(read[i].length, strings[i].length);
            cr_assert_arr_eq(read[i].data, strings[i].data, strings[i].length);
        }
        tort_tensor_file_free(NULL, &back);
    }
}

/* A tensor without elements may have any other size. */
Test(tensor_file, the_largest_sizes) {
    const tort_tensor tensor = {.type = TORT_UINT8, .rank = 3, .dims = {INT64_MAX, 0, 1}, .data = (char[1]){0}};
    for (int pass = 0; pass < 2; pass++) {
        tort_tensor back;
        round_trip(&tensor, pass ? ".pb" : ".npy", &back);
        cr_assert_eq(back.dims[0], INT64_MAX);
        tort_tensor_file_free(NULL, &back);
    }
}

/* NumPy gives every string a character at least, and so a file of strings is never shorter than their number. */
Test(tensor_file, many_empty_strings) {
    enum { COUNT = 1000 };
    tort_string strings[COUNT];
    for (int i = 0; i < COUNT; i++) strings[i] = (tort_string){"", 0};
    const tort_tensor tensor = {.type = TORT_STRING, .rank = 1, .dims = {COUNT}, .data = strings};
    for (int pass = 0; pass < 2; pass++) {
        tort_tensor back;
        round_trip(&tensor, pass ? ".pb" : ".npy", &back);
        for (int i = 0; i < COUNT; i++) cr_assert_eq(((const tort_string *)back.data)[i].length, 0);
        tort_tensor_file_free(NULL, &back);
    }
}

/* ---- .npy as NumPy writes it ------------------------------------------------------------------------------------ */

/* An .npy of version 1 with this dictionary and these elements. */
static size_t npy(char *out, const char *dictionary, const void *elements, size_t size) {
    size_t length = strlen(dictionary);
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (char)(length & 0xff);
    out[9] = (char)(length >> 8);
    memcpy(out + 10, dictionary, length);
    if (size) memcpy(out + 10 + length, elements, size);
    return 10 + length + size;
}

static tort_status decode(const char *dictionary, const void *elements, size_t size, tort_tensor *tensor,
                          tort_error *error) {
    char bytes[1024];
    size_t total = npy(bytes, dictionary, elements, size);
    char *exact = malloc(total); /* the sanitizers see a read behind the end */
    cr_assert(exact);
    memcpy(exact, bytes, total);
    tort_status status = tort_tensor_npy_decode(NULL, exact, total, tensor, error);
    free(exact);
    return status;
}

static void expect(const char *dictionary, const void *elements, size_t size, tort_type type, const void *bytes) {
    tort_tensor tensor;
    tort_error error = {0};
    cr_assert_eq(decode(dictionary, elements, size, &tensor, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tensor.type, type);
    cr_assert_arr_eq(tensor.data, bytes, size);
    tort_tensor_file_free(NULL, &tensor);
}

Test(tensor_file, npy_orders) {
    const int16_t rows[] = {1, 2, 3, 4, 5, 6}, columns[] = {1, 4, 2, 5, 3, 6};
    expect("{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }\n", rows, 12, TORT_INT16, rows);
    expect("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }\n", columns, 12, TORT_INT16, rows);
    expect("{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }\n", "\x00\x01\x01\x00", 4, TORT_INT16,
           (const int16_t[]){1, 256});
    expect("{'descr': '|b1', 'fortran_order': False, 'shape': (), }\n", "\x01", 1, TORT_BOOL, "\x01");
    expect("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 3), }\n", "", 0, TORT_DOUBLE, "");
}

Test(tensor_file, npy_that_lies) {
    static const char *const dictionaries[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,",
        "{'descr': '<f3', 'fortran_order': False, 'shape': (2,), }",
        "{'descr': '<f', 'fortran_order': False, 'shape': (2,), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }",
        "{'descr': '<U4611686018427387904', 'fortran_order': False, 'shape': (4,), }",
        "{'descr': '<U9', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }",
        "{'descr': '<f4', 'shape': (2,), }",
        "{'descr': '<f4', 'fortran_order': False, }",
        "{'descr': '",
        "",
    };
    for (size_t i = 0; i < sizeof dictionaries / sizeof *dictionaries; i++) {
        tort_tensor tensor;
        tort_error error = {0};
        tort_status status = decode(dictionaries[i], "12345678", 8, &tensor, &error);
        cr_assert(status == TORT_E_INPUT || status == TORT_E_UNSUPPORTED, "%s", dictionaries[i]);
        cr_assert(error.msg[0] && !tensor.data);
    }
}

/* Memory behind every block that goes on as an .npy header would: who reads it takes the header for whole. */
static void *tempting_alloc(void *ud, void *ptr, size_t old_size, size_t new_size) {
    static const char behind[] = "f4', 'shape': (2,), }";
    (void)ud;
    (void)old_size;
    if (new_size == 0) {
        free(ptr);
        return NULL;
    }
    char *block = realloc(ptr, new_size + sizeof behind);
    if (block) memcpy(block + new_size, behind, sizeof behind);
    return block;
}

Test(tensor_file, npy_header_that_ends_too_early) {
    static const char *const starts[] = {"{'fortran_order': False, 'shape': (2,), 'descr': '",
                                         "{'fortran_order': False, 'shape': (2,), 'descr': '<",
                                         "{'fortran_order': False, 'descr': '<f4', 'shape': "};
    const tort_env env = {.struct_size = sizeof env, .alloc = tempting_alloc};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        char bytes[1024];
        size_t size = npy(bytes, starts[i], "12345678", 8);
        tort_tensor tensor;
        cr_assert_eq(tort_tensor_npy_decode(&env, bytes, size, &tensor, NULL), TORT_E_INPUT, "%s", starts[i]);
    }
}

/* Elements that take no bytes of the file, but 16 each in memory. */
Test(tensor_file, npy_of_strings_without_bytes) {
    tort_tensor tensor;
    tort_error error = {0};
    const char *few = "{'descr': '|S0', 'fortran_order': False, 'shape': (3,), }\n";
    cr_assert_eq(decode(few, "", 0, &tensor, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(((const tort_string *)tensor.data)[2].length, 0);
    tort_tensor_file_free(NULL, &tensor);
    const char *many = "{'descr': '|S0', 'fortran_order': False, 'shape': (100000000,), }\n";
    cr_assert_eq(decode(many, "", 0, &tensor, &error), TORT_E_INPUT);
    cr_assert(strstr(error.msg, "100000000 empty strings"), "%s", error.msg);
}

Test(tensor_file, npy_truncated_at_every_byte) {
    char bytes[512];
    const float elements[] = {1, 2};
    size_t size = npy(bytes, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", elements, 8);
    for (size_t cut = 0; cut < size; cut++) {
        char *exact = malloc(cut ? cut : 1);
        cr_assert(exact);
        memcpy(exact, bytes, cut);
        tort_tensor tensor;
        tort_status status = tort_tensor_npy_decode(NULL, exact, cut, &tensor, NULL);
        cr_assert(status == TORT_E_INPUT || status == TORT_E_UNSUPPORTED, "%zu", cut);
        free(exact);
    }
}

/* ---- failures --------------------------------------------------------------------------------------------------- */

static void write_bytes(const char *file, const void *bytes, size_t size) {
    FILE *out = fopen(file, "wb");
    cr_assert(out);
    cr_assert_eq(fwrite(bytes, 1, size, out), size);
    fclose(out);
}

Test(tensor_file, pb_truncated_at_every_byte) {
    /* dims 2, float, raw_data of 8 bytes, name "w" */
    const char bytes[] = "\x08\x02\x10\x01\x42\x01w\x4a\x08\x00\x00\x80\x3f\x00\x00\x00\x40";
    const char *file = temporary(".pb");
    tort_tensor tensor;
    write_bytes(file, bytes, sizeof bytes - 1);
    cr_assert_eq(tort_tensor_file_read(NULL, file, &tensor, NULL), TORT_OK);
    cr_assert_float_eq(((float *)tensor.data)[1], 2.0f, 0);
    tort_tensor_file_free(NULL, &tensor);
    for (size_t cut = 0; cut < sizeof bytes - 1; cut++) {
        tort_error error = {0};
        write_bytes(file, bytes, cut);
        cr_assert_eq(tort_tensor_file_read(NULL, file, &tensor, &error), TORT_E_INPUT, "%zu: %s", cut, error.msg);
        cr_assert_null(tensor.data);
    }
    remove(file);
}

Test(tensor_file, the_nth_allocation_fails) {
    const float data[] = {1, 2};
    tort_tensor tensor = {.type = TORT_FLOAT, .rank = 1, .dims = {2}, .data = (void *)data}, back;
    static const char *const endings[] = {".pb", ".npy"};
    for (int e = 0; e < 2; e++) {
        tort_counting_env counting;
        tort_status status = TORT_E_MEMORY;
        const char *file = temporary(endings[e]);
        cr_assert_eq(tort_tensor_file_write(file, "", &tensor, NULL), TORT_OK);
        for (int64_t n = 1; status == TORT_E_MEMORY; n++) {
            tort_counting_env_init(&counting);
            counting.fail_at = n;
            status = tort_tensor_file_read(&counting.env, file, &back, NULL);
            if (status) cr_assert_eq(status, TORT_E_MEMORY);
            tort_tensor_file_free(&counting.env, &back);
            cr_assert_eq(counting.live_blocks, 0);
            cr_assert_eq(counting.wrong_sizes, 0);
        }
        cr_assert_gt(counting.allocations, 2);
        remove(file);
    }
}

Test(tensor_file, files_that_are_not_there) {
    tort_tensor tensor = {.type = TORT_FLOAT};
    tort_error error = {0};
    cr_assert_eq(tort_tensor_file_read(NULL, "/nowhere/x.npy", &tensor, &error), TORT_E_IO);
    cr_assert(strstr(error.msg, "/nowhere/x.npy"));
    cr_assert_eq(tort_tensor_file_read(NULL, "x.txt", &tensor, &error), TORT_E_USAGE);
    cr_assert_eq(tort_tensor_file_read(NULL, "/tmp/.pb", &tensor, &error), TORT_E_IO);
    float one = 1;
    tensor.data = &one;
    cr_assert_eq(tort_tensor_file_write("/nowhere/x.npy", "", &tensor, &error), TORT_E_IO);
    cr_assert_eq(tort_tensor_file_write("x.txt", "", &tensor, &error), TORT_E_USAGE);
}
