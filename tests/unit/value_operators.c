/* value_operators.c - tests of operators over sequences and optionals (ops/sequence.c, ops/optional.c): their infer,
 * resolve and reference are called as the executor would, with values made here. Params are moved in between. */
#include <criterion/criterion.h>
#include <string.h>

#include "runtime/core/graph/check.h"
#include "runtime/core/graph/infer.h"
#include "tests/counting_env.h"
#include "tests/unit/operator_case.h"
#include "tests/value_text.h"

enum { MAX_INPUTS = 3, MAX_ATTRIBUTES = 2, PARAMS = 64 };

static tort_counting_env counting;

/* A call of one operator. */
typedef struct value_case {
    const char *name;
    int opset;
    tort_attribute attributes[MAX_ATTRIBUTES]; /* all, defaults too; ends with a NULL name */
    const tort_value *inputs[MAX_INPUTS];
    int32_t input_count;
    uint32_t last_reads;
} value_case;

static tort_attribute integer(const char *name, int64_t value) {
    return (tort_attribute){.name = name, .kind = TORT_ATTR_INT, .count = 1, .u.i = value};
}

static tort_value *counting_value(tort_type type, const char *dims, int64_t first) {
    return value_counting(&counting.env, type, dims, first);
}

/* A sequence that takes over `count` elements. */
static tort_value *sequence_of(tort_type type, int32_t count, tort_value *const *elements) {
    tort_value *sequence = tort_value_sequence(&counting.env, tort_tensor_type(type));
    for (int32_t i = 0; i < count; i++) {
        if (sequence) tort_value_append(sequence, elements[i]);
        tort_value_release(elements[i]);
    }
    return sequence;
}

/* Three scalars 0, 1, 2. */
static tort_value *three(void) {
    tort_value *elements[] = {counting_value(TORT_FLOAT, "", 0), counting_value(TORT_FLOAT, "", 1),
                              counting_value(TORT_FLOAT, "", 2)};
    return sequence_of(TORT_FLOAT, 3, elements);
}

static tort_info info_of(const tort_value *value) {
    if (!value) return (tort_info){.rank = -1, .nest = -1};
    const tort_value_type type = tort_value_type_of(value);
    const tort_tensor *tensor = tort_value_view(value);
    if (!tensor)
        return (tort_info){.kind = tort_type_kind(type), .type = type.type, .nest = (int32_t)type.nest, .rank = -1};
    tort_info info = {.type = type.type, .nest = -1, .rank = tensor->rank};
    memcpy(info.dims, tensor->dims, sizeof info.dims);
    return info;
}

/* Types, as far as nothing runs. */
static tort_status infer_case(const tort_node_view *view, tort_info *output, tort_error *error) {
    tort_env env = tort_env_complete(NULL);
    tort_arena arena;
    tort_dims dims;
    tort_arena_init(&arena, &env);
    tort_dims_init(&dims, &env, &arena);
    *output = info_of(NULL);
    tort_infer infer = {.node = view, .outputs = output, .dims = &dims, .arena = &arena, .error = error};
    tort_status status = tort_check_types(view, error);
    if (!status) status = view->op->infer(&infer);
    if (!status) status = tort_check_outputs(view, (const int32_t[]){0}, error);
    output->elements = NULL;
    tort_dims_free(&dims);
    tort_arena_free(&arena);
    return status;
}

static tort_status call_reference(const value_case *c, const tort_op *row, const void *params, tort_value **output,
                                  tort_error *error) {
    tort_tensor tensors[MAX_INPUTS] = {{0}}, none = {0};
    const tort_value *values[MAX_INPUTS] = {NULL};
    for (int32_t i = 0; i < c->input_count; i++) {
        if (!c->inputs[i]) continue;
        if (tort_value_view(c->inputs[i]))
            tensors[i] = *tort_value_view(c->inputs[i]);
        else
            values[i] = c->inputs[i];
    }
    const tort_call call = {.op = row,
                            .params = params,
                            .inputs = tensors,
                            .outputs = &none,
                            .input_count = c->input_count,
                            .output_count = 1,
                            .env = &counting.env,
                            .input_values = values,
                            .output_values = output,
                            .last_reads = c->last_reads,
                            .error = error};
    return row->reference(&call);
}

/* Params are plain data: equal wherever they are made. */
static tort_status resolve_case(const tort_node_view *view, void *params, tort_error *error) {
    _Alignas(16) unsigned char elsewhere[PARAMS] = {0};
    size_t scratch = 0;
    cr_assert_leq(view->op->params_size, (size_t)PARAMS);
    tort_status status = tort_resolve_node(view, elsewhere, &scratch, error);
    if (!status) status = tort_resolve_node(view, params, &scratch, error);
    cr_expect_eq(memcmp(params, elsewhere, PARAMS), 0, "%s", view->op->name);
    cr_expect_eq(scratch, 0, "%s", view->op->name);
    return status;
}

/* *output is a new reference, or NULL. */
static tort_status run_case(const value_case *c, tort_value **output, tort_error *error) {
    _Alignas(16) unsigned char params[PARAMS] = {0}, moved[PARAMS] = {0};
    const tort_op *row = operator_case_row("", c->name, c->opset);
    tort_info inputs[TORT_INFER_INPUTS], inferred;
    *output = NULL;
    cr_assert_not_null(row, "%s-%d", c->name, c->opset);
    for (int32_t i = 0; i < TORT_INFER_INPUTS; i++) inputs[i] = info_of(i < c->input_count ? c->inputs[i] : NULL);
    tort_node_view view = {.op = row,
                           .name = "node",
                           .opset = c->opset,
                           .attributes = c->attributes,
                           .input_count = c->input_count,
                           .output_count = 1,
                           .inputs = inputs,
                           .outputs = &inferred};
    while (view.attribute_count < MAX_ATTRIBUTES && c->attributes[view.attribute_count].name) view.attribute_count++;
    cr_assert(row->flags & TORT_OP_VALUES, "%s-%d", c->name, c->opset);
    tort_status status = infer_case(&view, &inferred, error);
    if (!status) status = resolve_case(&view, params, error);
    if (status) return status;
    memcpy(moved, params, sizeof moved);
    status = call_reference(c, row, moved, output, error);
    if (status) return status;
    const tort_value_type found = tort_value_type_of(*output), told = tort_info_type(&inferred);
    cr_expect(found.type == told.type && found.nest == told.nest, "%s-%d makes what infer did not tell", c->name,
              c->opset);
    return TORT_OK;
}

/* Runs once in order, then with each allocation failing; releases the inputs. */
static void expect(const value_case *c, const char *expected) {
    char text[VALUE_TEXT];
    tort_error error = {0};
    tort_value *output;
    const int64_t before = counting.allocations, inputs = counting.live_blocks;
    cr_expect_eq(run_case(c, &output, &error), TORT_OK, "%s: %s", c->name, error.msg);
    cr_expect_str_eq(value_text(output, text), expected);
    tort_value_release(output);
    const int64_t made = counting.allocations - before;
    for (int64_t n = 1; n <= made; n++) {
        if (c->last_reads) break; /* the input has changed */
        counting.fail_at = counting.allocations + n;
        cr_expect_eq(run_case(c, &output, &error), TORT_E_MEMORY, "%s: allocation %lld", c->name, (long long)n);
        tort_value_release(output);
        counting.fail_at = 0;
        cr_expect_eq(counting.live_blocks, inputs, "%s: allocation %lld", c->name, (long long)n);
    }
    for (int32_t i = 0; i < c->input_count; i++) tort_value_release(c->inputs[i]);
    cr_expect_eq(counting.live_blocks, 0, "%s", c->name);
    cr_expect_eq(counting.wrong_sizes, 0, "%s", c->name);
}

static void refuse(const value_case *c, tort_status status, const char *words) {
    tort_error error = {0};
    tort_value *output;
    cr_expect_eq(run_case(c, &output, &error), status, "%s: %s", c->name, error.msg);
    cr_expect(strstr(error.msg, words), "%s says: %s", c->name, error.msg);
    tort_value_release(output);
    for (int32_t i = 0; i < c->input_count; i++) tort_value_release(c->inputs[i]);
    cr_expect_eq(counting.live_blocks, 0, "%s", c->name);
}

static void begin(void) {
    tort_counting_env_init(&counting);
}

/* ---- sequences --------------------------------------------------------------------------------------------------- */

Test(value_operators, sequences_are_made, .init = begin) {
    expect(&(value_case){.name = "SequenceEmpty", .opset = 11}, "seq(tensor(float)):");
    expect(&(value_case){.name = "SequenceEmpty", .opset = 28, .attributes = {integer("dtype", TORT_STRING)}},
           "seq(tensor(string)):");
    expect(&(value_case){.name = "SequenceConstruct",
                         .opset = 11,
                         .inputs = {counting_value(TORT_INT64, "2", 1), counting_value(TORT_INT64, "", 5)},
                         .input_count = 2},
           "seq(tensor(int64)): int64[2] 1 2, int64[] 5");
    expect(&(value_case){.name = "SequenceConstruct",
                         .opset = 28,
                         .inputs = {counting_value(TORT_STRING, "2", 1)},
                         .input_count = 1},
           "seq(tensor(string)): string[2] s1 s2");
}

static value_case at_case(int64_t position) {
    return (value_case){.name = "SequenceAt",
                        .opset = 13,
                        .inputs = {three(), counting_value(TORT_INT64, "", position)},
                        .input_count = 2};
}

Test(value_operators, an_element_is_found_by_its_place, .init = begin) {
    static const char *const elements[] = {"float[] 0", "float[] 1", "float[] 2"};
    for (int64_t position = -3; position < 3; position++) {
        value_case c = at_case(position);
        expect(&c, elements[(position + 3) % 3]);
    }
    value_case c = {
        .name = "SequenceAt", .opset = 11, .inputs = {three(), counting_value(TORT_INT32, "1", 1)}, .input_count = 2};
    expect(&c, "float[] 1");
    c = at_case(3);
    refuse(&c, TORT_E_RUN, "position 3 is not in [-3, 2], the sequence has 3 elements");
    c = at_case(-4);
    refuse(&c, TORT_E_RUN, "position -4 is not in [-3, 2], the sequence has 3 elements");
    c = at_case(0);
    tort_value_release(c.inputs[1]);
    c.inputs[1] = counting_value(TORT_INT64, "2", 0);
    refuse(&c, TORT_E_MODEL, "position");
}

/* The element is the same value, not a copy. */
Test(value_operators, an_element_is_shared, .init = begin) {
    value_case c = at_case(1);
    tort_value *output;
    cr_assert_eq(run_case(&c, &output, NULL), TORT_OK);
    cr_expect_eq(output, tort_value_at(c.inputs[0], 1));
    for (int i = 0; i < 2; i++) tort_value_release(c.inputs[i]);
    tort_value_release(output);
    cr_expect_eq(counting.live_blocks, 0);
}

Test(value_operators, length, .init = begin) {
    expect(&(value_case){.name = "SequenceLength", .opset = 11, .inputs = {three()}, .input_count = 1}, "int64[] 3");
    tort_value *empty = sequence_of(TORT_STRING, 0, NULL);
    expect(&(value_case){.name = "SequenceLength", .opset = 11, .inputs = {empty}, .input_count = 1}, "int64[] 0");
}

/* position -9: none is given. */
static value_case insert_case(int64_t position, uint32_t last_reads) {
    value_case c = {.name = "SequenceInsert",
                    .opset = 11,
                    .inputs = {three(), counting_value(TORT_FLOAT, "1", 7)},
                    .input_count = 2,
                    .last_reads = last_reads};
    if (position != -9) c.inputs[c.input_count++] = counting_value(TORT_INT32, "", position);
    return c;
}

Test(value_operators, insert, .init = begin) {
    static const char *const expected[] = {"seq(tensor(float)): float[1] 7, float[] 0, float[] 1, float[] 2",
                                           "seq(tensor(float)): float[] 0, float[1] 7, float[] 1, float[] 2",
                                           "seq(tensor(float)): float[] 0, float[] 1, float[1] 7, float[] 2",
                                           "seq(tensor(float)): float[] 0, float[] 1, float[] 2, float[1] 7"};
    for (uint32_t last = 0; last < 2; last++) {
        for (int64_t position = -3; position <= 3; position++) {
            value_case c = insert_case(position, last);
            expect(&c, expected[position < 0 ? position + 3 : position]);
        }
        value_case c = insert_case(-9, last);
        expect(&c, expected[3]);
        c = insert_case(4, last);
        refuse(&c, TORT_E_RUN, "position 4 is not in [-3, 3], the sequence has 3 elements");
        c = insert_case(-4, last);
        refuse(&c, TORT_E_RUN, "position -4 is not in [-3, 3]");
    }
    value_case c = insert_case(-9, 0);
    tort_value_release(c.inputs[1]);
    c.inputs[1] = counting_value(TORT_INT64, "", 1);
    refuse(&c, TORT_E_MODEL, "a tensor of int64 cannot be put into a sequence of float");
}

static value_case erase_case(int64_t position, uint32_t last_reads) {
    value_case c = {
        .name = "SequenceErase", .opset = 11, .inputs = {three()}, .input_count = 1, .last_reads = last_reads};
    if (position != -9) c.inputs[c.input_count++] = counting_value(TORT_INT64, "", position);
    return c;
}

Test(value_operators, erase, .init = begin) {
    static const char *const expected[] = {"seq(tensor(float)): float[] 1, float[] 2",
                                           "seq(tensor(float)): float[] 0, float[] 2",
                                           "seq(tensor(float)): float[] 0, float[] 1"};
    for (uint32_t last = 0; last < 2; last++) {
        for (int64_t position = -3; position < 3; position++) {
            value_case c = erase_case(position, last);
            expect(&c, expected[(position + 3) % 3]);
        }
        value_case c = erase_case(-9, last);
        expect(&c, expected[2]);
        c = erase_case(3, last);
        refuse(&c, TORT_E_RUN, "position 3 is not in [-3, 2], the sequence has 3 elements");
    }
    tort_value *empty = sequence_of(TORT_FLOAT, 0, NULL);
    refuse(&(value_case){.name = "SequenceErase", .opset = 11, .inputs = {empty}, .input_count = 1}, TORT_E_RUN,
           "no elements");
}

/* A sequence that is not read again is changed where it is, unless somebody else holds it. */
Test(value_operators, in_place_where_nobody_sees_it, .init = begin) {
    for (int held = 0; held < 2; held++) {
        value_case c = insert_case(-9, 1);
        tort_value *other = held ? tort_value_retain(c.inputs[0]) : NULL, *output;
        cr_assert_eq(run_case(&c, &output, NULL), TORT_OK);
        cr_expect_eq(output == c.inputs[0], !held);
        cr_expect_eq(tort_value_count(output), 4);
        cr_expect_eq(tort_value_count(c.inputs[0]), held ? 3 : 4);
        for (int i = 0; i < 2; i++) tort_value_release(c.inputs[i]);
        tort_value_release(other);
        tort_value_release(output);
        cr_expect_eq(counting.live_blocks, 0);
    }
}

Test(value_operators, a_change_in_place_that_fails_changes_nothing, .init = begin) {
    value_case c = insert_case(-9, 1);
    tort_value *output;
    counting.fail_at = counting.allocations + 1;
    cr_expect_eq(run_case(&c, &output, NULL), TORT_E_MEMORY);
    cr_expect_eq(tort_value_count(c.inputs[0]), 3);
    for (int i = 0; i < 2; i++) tort_value_release(c.inputs[i]);
    cr_expect_eq(counting.live_blocks, 0);
}

/* ---- splitting and joining --------------------------------------------------------------------------------------- */

static value_case split_case(int opset, tort_value *input, tort_value *split, int64_t axis, int64_t keep) {
    return (value_case){.name = "SplitToSequence",
                        .opset = opset,
                        .attributes = {integer("axis", axis), integer("keepdims", keep)},
                        .inputs = {input, split},
                        .input_count = split ? 2 : 1};
}

static tort_value *lengths(tort_type type, int64_t first, int64_t second) {
    tort_value *value = counting_value(type, "2", 0);
    const int64_t numbers[] = {first, second};
    for (int i = 0; i < 2; i++)
        if (type == TORT_INT32)
            ((int32_t *)tort_value_data(value))[i] = (int32_t)numbers[i];
        else
            ((int64_t *)tort_value_data(value))[i] = numbers[i];
    return value;
}

Test(value_operators, split_by_one, .init = begin) {
    value_case c = split_case(11, counting_value(TORT_FLOAT, "2,2", 0), NULL, 0, 1);
    expect(&c, "seq(tensor(float)): float[1,2] 0 1, float[1,2] 2 3");
    c = split_case(24, counting_value(TORT_BFLOAT16, "2,2", 0), NULL, -1, 0);
    expect(&c, "seq(tensor(bfloat16)): bfloat16[2] 0 2, bfloat16[2] 1 3");
    c = split_case(11, counting_value(TORT_STRING, "2", 0), NULL, 0, 0);
    expect(&c, "seq(tensor(string)): string[] s0, string[] s1");
    c = split_case(11, counting_value(TORT_INT8, "0,2", 0), NULL, 0, 1);
    expect(&c, "seq(tensor(int8)):");
    c = split_case(11, counting_value(TORT_INT8, "2,0", 0), NULL, 0, 1);
    expect(&c, "seq(tensor(int8)): int8[1,0], int8[1,0]");
}

Test(value_operators, split_into_parts, .init = begin) {
    value_case c = split_case(11, counting_value(TORT_INT64, "5", 0), counting_value(TORT_INT64, "", 2), 0, 0);
    expect(&c, "seq(tensor(int64)): int64[2] 0 1, int64[2] 2 3, int64[1] 4");
    c = split_case(11, counting_value(TORT_INT64, "2,3", 0), lengths(TORT_INT32, 1, 2), 1, 0);
    expect(&c, "seq(tensor(int64)): int64[2,1] 0 3, int64[2,2] 1 2 4 5");
    c = split_case(24, counting_value(TORT_STRING, "3", 0), lengths(TORT_INT64, 3, 0), -1, 1);
    expect(&c, "seq(tensor(string)): string[3] s0 s1 s2, string[0]");
}

Test(value_operators, splits_that_are_wrong, .init = begin) {
    value_case c = split_case(11, counting_value(TORT_INT64, "5", 0), counting_value(TORT_INT64, "", 0), 0, 1);
    refuse(&c, TORT_E_RUN, "split is 0, expected a number above 0");
    c = split_case(11, counting_value(TORT_INT64, "5", 0), lengths(TORT_INT64, 2, 4), 0, 1);
    refuse(&c, TORT_E_RUN, "split[1] is 4 where the axis has 3 of 5 left");
    c = split_case(11, counting_value(TORT_INT64, "5", 0), lengths(TORT_INT64, -1, 4), 0, 1);
    refuse(&c, TORT_E_RUN, "split[0] is -1");
    c = split_case(11, counting_value(TORT_INT64, "5", 0), lengths(TORT_INT64, 2, 2), 0, 1);
    refuse(&c, TORT_E_RUN, "the lengths in split add up to 4, the axis has 5 elements");
    c = split_case(11, counting_value(TORT_INT64, "5", 0), counting_value(TORT_INT64, "1,1", 5), 0, 1);
    refuse(&c, TORT_E_MODEL, "split has rank 2, expected a scalar or a list");
    c = split_case(11, counting_value(TORT_INT64, "5", 0), NULL, 1, 1);
    refuse(&c, TORT_E_MODEL, "axis 1 is not in [-1, 1)");
    c = split_case(11, counting_value(TORT_INT64, "", 0), NULL, 0, 1);
    refuse(&c, TORT_E_MODEL, "axis 0");
    c = split_case(11, counting_value(TORT_BFLOAT16, "5", 0), NULL, 0, 1);
    refuse(&c, TORT_E_MODEL, "bfloat16");
    c = split_case(11, counting_value(TORT_INT8, "9223372036854775807,0", 0), NULL, 0, 1);
    refuse(&c, TORT_E_RUN, "too many parts");
}

static value_case join_case(tort_value *sequence, int64_t axis, int64_t new_axis) {
    return (value_case){.name = "ConcatFromSequence",
                        .opset = 11,
                        .attributes = {integer("axis", axis), integer("new_axis", new_axis)},
                        .inputs = {sequence},
                        .input_count = 1};
}

static tort_value *pair(tort_type type, const char *first, const char *second) {
    tort_value *elements[] = {counting_value(type, first, 0), counting_value(type, second, 10)};
    return sequence_of(type, 2, elements);
}

Test(value_operators, join, .init = begin) {
    value_case c = join_case(pair(TORT_FLOAT, "1,2", "2,2"), 0, 0);
    expect(&c, "float[3,2] 0 1 10 11 12 13");
    c = join_case(pair(TORT_FLOAT, "2,1", "2,2"), -1, 0);
    expect(&c, "float[2,3] 0 10 11 1 12 13");
    c = join_case(pair(TORT_STRING, "1", "2"), 0, 0);
    expect(&c, "string[3] s0 s10 s11");
    c = join_case(pair(TORT_INT64, "2", "0"), 0, 0);
    expect(&c, "int64[2] 0 1");
    c = join_case(pair(TORT_INT64, "0", "0"), 0, 0);
    expect(&c, "int64[0]");
}

Test(value_operators, stack, .init = begin) {
    value_case c = join_case(pair(TORT_FLOAT, "2", "2"), 0, 1);
    expect(&c, "float[2,2] 0 1 10 11");
    c = join_case(pair(TORT_FLOAT, "2", "2"), -1, 1);
    expect(&c, "float[2,2] 0 10 1 11");
    c = join_case(pair(TORT_BOOL, "", ""), 0, 1);
    expect(&c, "bool[2] 0 1");
    c = join_case(pair(TORT_STRING, "", ""), -1, 1);
    expect(&c, "string[2] s0 s10");
}

Test(value_operators, what_does_not_join, .init = begin) {
    value_case c = join_case(pair(TORT_FLOAT, "2,2", "2,3"), 0, 0);
    refuse(&c, TORT_E_RUN, "element 1 has 3 where the first one has 2, in axis 1");
    c = join_case(pair(TORT_FLOAT, "2", "3"), 0, 1);
    refuse(&c, TORT_E_RUN, "element 1 has 3 where the first one has 2, in axis 0");
    c = join_case(pair(TORT_FLOAT, "2", "2,3"), 0, 0);
    refuse(&c, TORT_E_RUN, "element 1 has rank 2, the first one rank 1");
    c = join_case(sequence_of(TORT_FLOAT, 0, NULL), 0, 0);
    refuse(&c, TORT_E_RUN, "nothing to concatenate");
    c = join_case(pair(TORT_FLOAT, "2", "2"), 1, 0);
    refuse(&c, TORT_E_RUN, "axis 1 is not in [-1, 1)");
    c = join_case(pair(TORT_FLOAT, "2", "2"), 2, 1);
    refuse(&c, TORT_E_RUN, "axis 2 is not in [-2, 2)");
    c = join_case(pair(TORT_FLOAT, "1,1,1,1,1,1,1,1", "1,1,1,1,1,1,1,1"), 0, 1);
    refuse(&c, TORT_E_UNSUPPORTED, "a tensor of rank 9");
    c = join_case(pair(TORT_INT8, "9223372036854775807,0", "1,0"), 0, 0);
    refuse(&c, TORT_E_RUN, "overflows");
}

/* ---- optionals --------------------------------------------------------------------------------------------------- */

static tort_attribute type_attribute(const tort_value_type *type) {
    return (tort_attribute){.name = "type", .kind = TORT_ATTR_TYPE_PROTO, .count = 1, .u.types = type};
}

static tort_value *optional_of(tort_value_type type, tort_value *element) {
    tort_value *optional = tort_value_optional(&counting.env, type, element);
    tort_value_release(element);
    return optional;
}

static value_case one_input(const char *name, int opset, tort_value *input) {
    return (value_case){.name = name, .opset = opset, .inputs = {input}, .input_count = input ? 1 : 0};
}

static const tort_value_type floats = {.type = TORT_FLOAT};

Test(value_operators, optionals_are_made, .init = begin) {
    const tort_value_type sequence = tort_sequence_type(tort_tensor_type(TORT_INT4));
    value_case c = one_input("Optional", 15, counting_value(TORT_FLOAT, "2", 1));
    expect(&c, "optional(tensor(float)): float[2] 1 2");
    c = one_input("Optional", 15, three());
    expect(&c, "optional(seq(tensor(float))): seq(tensor(float)): float[] 0, float[] 1, float[] 2");
    c = one_input("Optional", 28, NULL);
    c.attributes[0] = type_attribute(&sequence);
    expect(&c, "optional(seq(tensor(int4))): none");
    c.opset = 15;
    refuse(&c, TORT_E_MODEL, "optional(seq(tensor(int4)))");
    c = one_input("Optional", 15, NULL);
    refuse(&c, TORT_E_MODEL, "neither an input nor the attribute type");
    c = one_input("Optional", 15, optional_of(floats, NULL));
    refuse(&c, TORT_E_MODEL, "is of type optional(tensor(float)); expected");
}

Test(value_operators, is_there_an_element, .init = begin) {
    for (int opset = 15; opset <= 28; opset += opset == 15 ? 3 : 10) {
        value_case c = one_input("OptionalHasElement", opset, optional_of(floats, counting_value(TORT_FLOAT, "2", 1)));
        expect(&c, "bool[] 1");
        c = one_input("OptionalHasElement", opset, optional_of(tort_sequence_type(floats), three()));
        expect(&c, "bool[] 1");
        c = one_input("OptionalHasElement", opset, optional_of(floats, NULL));
        expect(&c, "bool[] 0");
        c = one_input("OptionalHasElement", opset, three());
        if (opset == 15)
            refuse(&c, TORT_E_MODEL, "is of type seq(tensor(float)); expected");
        else
            expect(&c, "bool[] 1");
    }
}

Test(value_operators, the_element, .init = begin) {
    for (int opset = 15; opset <= 28; opset += opset == 15 ? 3 : 10) {
        value_case c = one_input("OptionalGetElement", opset, optional_of(floats, counting_value(TORT_FLOAT, "2", 1)));
        expect(&c, "float[2] 1 2");
        c = one_input("OptionalGetElement", opset, optional_of(tort_sequence_type(floats), three()));
        expect(&c, "seq(tensor(float)): float[] 0, float[] 1, float[] 2");
        c = one_input("OptionalGetElement", opset, optional_of(floats, NULL));
        refuse(&c, TORT_E_RUN, "the optional has no element");
        c = one_input("OptionalGetElement", opset, three());
        if (opset == 15)
            refuse(&c, TORT_E_MODEL, "is of type seq(tensor(float)); expected");
        else
            expect(&c, "seq(tensor(float)): float[] 0, float[] 1, float[] 2");
    }
}

Test(value_operators, identity_is_the_same_value, .init = begin) {
    for (int opset = 14; opset <= 28; opset++) {
        value_case c = one_input("Identity", opset, three());
        tort_value *output;
        cr_assert_eq(run_case(&c, &output, NULL), TORT_OK);
        cr_expect_eq(output, c.inputs[0]);
        tort_value_release(output);
        tort_value_release(c.inputs[0]);
    }
    value_case c = one_input("Identity", 16, optional_of(floats, NULL));
    expect(&c, "optional(tensor(float)): none");
    c = one_input("Identity", 14, optional_of(floats, NULL));
    refuse(&c, TORT_E_MODEL, "optional(tensor(float))");
    const tort_value_type nested = tort_sequence_type(floats);
    c = one_input("Identity", 28, tort_value_sequence(&counting.env, nested));
    refuse(&c, TORT_E_MODEL, "is of type seq(seq(tensor(float))); expected");
}
