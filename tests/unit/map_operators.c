/* map_operators.c - tests of the operators of ai.onnx.ml that take or make maps (ops/ml/maps.c, ops/ml/zip_map.c):
 * models of one node that are run through the public interface, with every allocation of the run failing once. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/counting_env.h"
#include "tests/onnx_bytes.h"
#include "tests/value_text.h"

static tort_counting_env counting;

static void begin(void) {
    tort_counting_env_init(&counting);
}

/* ---- models ------------------------------------------------------------------------------------------------------ */

enum { TYPE_TENSOR = 1, TYPE_SEQUENCE = 4, TYPE_MAP = 5, PORT_NAME = 1, PORT_TYPE = 2 };

static void map_type(onnx_bytes *b, tort_type key, tort_type element) {
    onnx_begin(b, TYPE_MAP);
    onnx_int(b, 1, key);
    onnx_begin(b, 2); /* value type */
    onnx_begin(b, TYPE_TENSOR);
    onnx_int(b, 1, element);
    for (int i = 0; i < 3; i++) onnx_end(b);
}

static void map_port(onnx_bytes *b, int field, const char *name, tort_type key, tort_type element, bool sequence) {
    onnx_begin(b, field);
    onnx_text(b, PORT_NAME, name);
    onnx_begin(b, PORT_TYPE);
    if (sequence) {
        onnx_begin(b, TYPE_SEQUENCE);
        onnx_begin(b, 1);
    }
    map_type(b, key, element);
    for (int i = 0; i < (sequence ? 4 : 2); i++) onnx_end(b);
}

/* A word of a list of attributes: "name=1,2" with kind 'i' (a list), "name=a" 's', "name=a,b" 't' (a list), 'n' (a
 * number). */
static void put_attribute(onnx_bytes *b, const char *word) {
    char text[200], *rest;
    snprintf(text, sizeof text, "%s", word + 1);
    char *value = strchr(text, '=');
    *value++ = '\0';
    const char kind = word[0];
    onnx_begin_attribute(b, text, kind == 'i' ? 7 : kind == 's' ? 3 : kind == 't' ? 8 : 2);
    if (kind == 's') onnx_text(b, ATTR_S, value);
    if (kind == 'n') onnx_int(b, ATTR_I, strtoll(value, NULL, 10));
    for (char *item = strtok_r(value, ",", &rest); item && (kind == 'i' || kind == 't');
         item = strtok_r(NULL, ",", &rest)) {
        if (kind == 'i') onnx_int(b, ATTR_INTS, strtoll(item, NULL, 10));
        if (kind == 't') onnx_text(b, ATTR_STRINGS, item);
    }
    onnx_end(b);
}

/* A node y = name(x) of one map or, for ZipMap, one tensor of floats. */
typedef struct map_case {
    const char *name;
    const char *attributes[4]; /* ends with NULL */
    tort_type key, element;    /* of the map */
    tort_type made;            /* elements of the output */
    const int64_t *dims;       /* ZipMap: of X, whose rank is 2; NULL: the input is a map */
} map_case;

static void write_case(onnx_bytes *b, const map_case *c) {
    *b = (onnx_bytes){0};
    onnx_begin_model(b, 18);
    onnx_begin_node(b, GRAPH_NODE, c->name, "node", "x", "y");
    onnx_text(b, NODE_DOMAIN, "ai.onnx.ml");
    for (int i = 0; c->attributes[i]; i++) put_attribute(b, c->attributes[i]);
    onnx_end(b);
    if (c->dims) {
        onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 2, c->dims);
        map_port(b, GRAPH_OUTPUT, "y", c->key, c->element, true);
    } else {
        map_port(b, GRAPH_INPUT, "x", c->key, c->element, false);
        onnx_value(b, GRAPH_OUTPUT, "y", c->made, -1, NULL);
    }
    onnx_end(b);
    onnx_opset(b, MODEL_OPSET, "ai.onnx.ml", 3);
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

typedef struct opened_case {
    onnx_bytes bytes;
    tort_model *model;
    tort_session *session;
    tort_context *context;
} opened_case;

static tort_status open_case(const map_case *c, opened_case *o, tort_error *error) {
    *o = (opened_case){0};
    write_case(&o->bytes, c);
    tort_status status = tort_model_load_buffer(&counting.env, o->bytes.data, o->bytes.size, NULL, &o->model, error);
    const tort_session_options options = {.struct_size = sizeof options};
    if (!status) status = tort_session_create(&counting.env, o->model, &options, &o->session, error);
    return status ? status : tort_context_create(o->session, &o->context, error);
}

static void close_case(opened_case *o) {
    tort_context_free(o->context);
    tort_session_free(o->session);
    tort_model_free(o->model);
    onnx_free(&o->bytes);
    cr_expect_eq(counting.live_blocks, 0);
}

/* Runs once, then with each allocation failing. */
static void expect(const map_case *c, tort_value *input, const char *expected) {
    opened_case o;
    tort_error error = {0};
    char text[VALUE_TEXT];
    tort_value *output = NULL;
    const tort_value *inputs[] = {input};
    cr_assert_eq(open_case(c, &o, &error), TORT_OK, "%s: %s", c->name, error.msg);
    cr_assert_eq(tort_context_run_values(o.context, inputs, 1, &output, 1, &error), TORT_OK, "%s: %s", c->name,
                 error.msg);
    cr_expect_str_eq(value_text(output, text), expected);
    tort_value_release(output);
    for (int64_t n = 1, failed = 1; failed; n++) {
        output = NULL;
        counting.fail_at = counting.allocations + n;
        const tort_status status = tort_context_run_values(o.context, inputs, 1, &output, 1, &error);
        failed = counting.allocations >= counting.fail_at;
        counting.fail_at = 0;
        cr_expect_eq(status, failed ? TORT_E_MEMORY : TORT_OK, "%s: allocation %lld: %s", c->name, (long long)n,
                     error.msg);
        tort_value_release(output);
        cr_assert_lt(n, 1000);
    }
    tort_value_release(input);
    close_case(&o);
}

static void refuse_run(const map_case *c, tort_value *input, const char *words) {
    opened_case o;
    tort_error error = {0};
    tort_value *output = NULL;
    const tort_value *inputs[] = {input};
    cr_assert_eq(open_case(c, &o, &error), TORT_OK, "%s: %s", c->name, error.msg);
    cr_expect_eq(tort_context_run_values(o.context, inputs, 1, &output, 1, &error), TORT_E_RUN);
    cr_expect(strstr(error.msg, words), "%s says: %s", c->name, error.msg);
    tort_value_release(input);
    close_case(&o);
}

static void refuse_load(const map_case *c, const char *words) {
    opened_case o;
    tort_error error = {0};
    cr_expect_eq(open_case(c, &o, &error), TORT_E_MODEL, "%s", c->name);
    cr_expect(strstr(error.msg, words), "%s says: %s", c->name, error.msg);
    close_case(&o);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

enum { MAX_KEYS = 8 };

/* Elements stand behind each other in `elements`. */
static tort_value *map_of(tort_type key, const void *keys, tort_type type, const void *elements, int32_t count) {
    const tort_tensor list = {.type = key, .rank = 1, .dims = {count}, .data = (void *)(uintptr_t)keys};
    const tort_value *values[MAX_KEYS];
    const size_t size = (size_t)tort_type_bits(type) / 8;
    for (int32_t i = 0; i < count; i++) {
        const tort_tensor one = {.type = type, .data = (char *)(uintptr_t)elements + (size_t)i * size};
        values[i] = tort_value_tensor(&counting.env, &one);
    }
    tort_value *map = tort_value_map(&counting.env, &list, tort_tensor_type(type), values);
    for (int32_t i = 0; i < count; i++) tort_value_release(values[i]);
    return map;
}

static const tort_string a = {"a", 1}, b = {"b", 1}, c = {"c", 1};

static tort_value *floats_by_number(int32_t count) {
    static const int64_t keys[] = {4, 1, 2};
    static const float elements[] = {0.5f, -1.75f, 3};
    return map_of(TORT_INT64, keys, TORT_FLOAT, elements, count);
}

/* ---- ZipMap ------------------------------------------------------------------------------------------------------ */

static tort_value *rows_of_three(void) {
    static const float elements[] = {1, 2, 3, 4, 5, 6};
    const tort_tensor x = {.type = TORT_FLOAT, .rank = 2, .dims = {2, 3}, .data = (void *)(uintptr_t)elements};
    return tort_value_tensor(&counting.env, &x);
}

static const int64_t two_by_three[] = {2, 3};

Test(map_operators, rows_become_maps, .init = begin) {
    expect(&(map_case){"ZipMap", {"tclasslabels_strings=a,c,b"}, TORT_STRING, TORT_FLOAT, .dims = two_by_three},
           rows_of_three(),
           "seq(map(string,tensor(float))): map(string,tensor(float)): a = float[] 1, c = float[] 2, b = float[] 3, "
           "map(string,tensor(float)): a = float[] 4, c = float[] 5, b = float[] 6");
    expect(&(map_case){"ZipMap", {"iclasslabels_int64s=7,-1,7"}, TORT_INT64, TORT_FLOAT, .dims = two_by_three},
           rows_of_three(),
           "seq(map(int64,tensor(float))): map(int64,tensor(float)): -1 = float[] 2, 7 = float[] 3, "
           "map(int64,tensor(float)): -1 = float[] 5, 7 = float[] 6");
}

Test(map_operators, keys_that_do_not_fit, .init = begin) {
    refuse_load(&(map_case){"ZipMap", {"iclasslabels_int64s=7,8"}, TORT_INT64, TORT_FLOAT, .dims = two_by_three},
                "X has 3 features, classlabels_* is for 2");
    refuse_load(&(map_case){"ZipMap", {NULL}, TORT_INT64, TORT_FLOAT, .dims = two_by_three}, "has no keys");
    refuse_load(&(map_case){"ZipMap",
                            {"iclasslabels_int64s=7,8,9", "tclasslabels_strings=a,b,c"},
                            TORT_INT64,
                            TORT_FLOAT,
                            .dims = two_by_three},
                "has both");
}

/* ---- DictVectorizer ---------------------------------------------------------------------------------------------- */

Test(map_operators, a_dictionary_becomes_a_row, .init = begin) {
    const tort_string keys[] = {c, a}, words[] = {b, c};
    const int64_t numbers[] = {8, 4};
    const double doubles[] = {0.5, -2};
    const int64_t places[] = {5, 3};
    expect(&(map_case){"DictVectorizer", {"tstring_vocabulary=a,c,b,z"}, TORT_STRING, TORT_INT64, .made = TORT_INT64},
           map_of(TORT_STRING, keys, TORT_INT64, numbers, 2), "int64[1,4] 4 8 0 0");
    expect(&(map_case){"DictVectorizer", {"tstring_vocabulary=b,a,b,a"}, TORT_STRING, TORT_DOUBLE, .made = TORT_DOUBLE},
           map_of(TORT_STRING, keys, TORT_DOUBLE, doubles, 2), "double[1,4] 0 -2 0 -2");
    expect(&(map_case){"DictVectorizer", {"iint64_vocabulary=3,4,5"}, TORT_INT64, TORT_STRING, .made = TORT_STRING},
           map_of(TORT_INT64, places, TORT_STRING, words, 2), "string[1,3] c  b");
    expect(&(map_case){"DictVectorizer", {"iint64_vocabulary=1,9"}, TORT_INT64, TORT_FLOAT, .made = TORT_FLOAT},
           floats_by_number(3), "float[1,2] -1.75 0");
    expect(&(map_case){"DictVectorizer", {"iint64_vocabulary=1"}, TORT_INT64, TORT_FLOAT, .made = TORT_FLOAT},
           floats_by_number(0), "float[1,1] 0");
    refuse_load(&(map_case){"DictVectorizer", {"iint64_vocabulary=1"}, TORT_STRING, TORT_FLOAT, .made = TORT_FLOAT},
                "has no string_vocabulary; a map with keys of string needs that");
    refuse_load(&(map_case){"DictVectorizer", {"iint64_vocabulary=1"}, TORT_INT64, TORT_INT64, .made = TORT_INT64},
                "map(int64,tensor(int64))");
}

/* ---- CastMap ----------------------------------------------------------------------------------------------------- */

static tort_value *texts_by_number(const char *first, const char *second) {
    const tort_string texts[] = {{first, strlen(first)}, {second, strlen(second)}};
    const int64_t keys[] = {2, 0};
    return map_of(TORT_INT64, keys, TORT_STRING, texts, 2);
}

Test(map_operators, values_in_the_order_of_their_keys, .init = begin) {
    expect(&(map_case){"CastMap", {NULL}, TORT_INT64, TORT_FLOAT, .made = TORT_FLOAT}, floats_by_number(3),
           "float[1,3] -1.75 3 0.5");
    expect(&(map_case){"CastMap", {"scast_to=TO_INT64"}, TORT_INT64, TORT_FLOAT, .made = TORT_INT64},
           floats_by_number(3), "int64[1,3] -1 3 0");
    expect(&(map_case){"CastMap", {"scast_to=TO_STRING"}, TORT_INT64, TORT_FLOAT, .made = TORT_STRING},
           floats_by_number(2), "string[1,2] -1.750000 0.500000");
    expect(&(map_case){"CastMap", {NULL}, TORT_INT64, TORT_STRING, .made = TORT_FLOAT}, texts_by_number("1e2", " -3"),
           "float[1,2] -3 100");
    expect(&(map_case){"CastMap", {"scast_to=TO_INT64"}, TORT_INT64, TORT_STRING, .made = TORT_INT64},
           texts_by_number("12", "-7.9"), "int64[1,2] -7 12");
    expect(&(map_case){"CastMap", {"scast_to=TO_STRING"}, TORT_INT64, TORT_STRING, .made = TORT_STRING},
           texts_by_number("x", "y"), "string[1,2] y x");
    expect(&(map_case){"CastMap", {NULL}, TORT_INT64, TORT_FLOAT, .made = TORT_FLOAT}, floats_by_number(0),
           "float[1,0]");
    refuse_run(&(map_case){"CastMap", {NULL}, TORT_INT64, TORT_STRING, .made = TORT_FLOAT}, texts_by_number("1", "one"),
               "\"one\" in the map is not a number");
}

Test(map_operators, values_at_the_places_of_their_keys, .init = begin) {
    expect(&(map_case){"CastMap", {"smap_form=SPARSE", "nmax_map=6"}, TORT_INT64, TORT_FLOAT, .made = TORT_FLOAT},
           floats_by_number(3), "float[1,6] 0 -1.75 3 0 0.5 0");
    expect(&(map_case){"CastMap",
                       {"smap_form=SPARSE", "nmax_map=3", "scast_to=TO_STRING"},
                       TORT_INT64,
                       TORT_STRING,
                       .made = TORT_STRING},
           texts_by_number("x", "y"), "string[1,3] y 0.f x");
    refuse_run(&(map_case){"CastMap", {"smap_form=SPARSE", "nmax_map=4"}, TORT_INT64, TORT_FLOAT, .made = TORT_FLOAT},
               floats_by_number(3), "key 4 of the map is not in 0 to 3, that is max_map - 1");
    refuse_load(&(map_case){"CastMap", {"smap_form=SPARSE", "nmax_map=0"}, TORT_INT64, TORT_FLOAT, .made = TORT_FLOAT},
                "max_map is 0");
    refuse_load(&(map_case){"CastMap", {"smap_form=THIN"}, TORT_INT64, TORT_FLOAT, .made = TORT_FLOAT},
                "map_form is \"THIN\"");
    refuse_load(&(map_case){"CastMap", {"scast_to=FLOAT"}, TORT_INT64, TORT_FLOAT, .made = TORT_FLOAT},
                "cast_to is \"FLOAT\"");
}

/* A map may hold any tensors; the operators take single elements. */
Test(map_operators, elements_that_are_several, .init = begin) {
    const int64_t key = 1;
    const float two[] = {1, 2};
    const tort_tensor keys = {.type = TORT_INT64, .rank = 1, .dims = {1}, .data = (void *)(uintptr_t)&key};
    const tort_tensor tensor = {.type = TORT_FLOAT, .rank = 1, .dims = {2}, .data = (void *)(uintptr_t)two};
    for (int i = 0; i < 2; i++) {
        tort_value *element = tort_value_tensor(&counting.env, &tensor);
        tort_value *map =
            tort_value_map(&counting.env, &keys, tort_tensor_type(TORT_FLOAT), (const tort_value *const[]){element});
        tort_value_release(element);
        refuse_run(&(map_case){i ? "DictVectorizer" : "CastMap",
                               {i ? "iint64_vocabulary=1" : NULL},
                               TORT_INT64,
                               TORT_FLOAT,
                               .made = TORT_FLOAT},
                   map, "element 0 of the map has 2 elements");
    }
}
