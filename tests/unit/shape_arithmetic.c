/* Tests of symbolic shapes through operators: the chains that exporters write for dynamic batches and sequences. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "runtime/core/base/build.h"
#include "runtime/include/op.h"

static tort_env env;
static tort_arena arena;
static tort_dims dims;
static tort_error error;
static tort_dim batch, seq, past;

static void set_up(void) {
    env = tort_env_complete(NULL);
    tort_arena_init(&arena, &env);
    tort_dims_init(&dims, &env, &arena);
    batch = tort_dim_symbol(&dims, "batch");
    seq = tort_dim_symbol(&dims, "seq");
    past = tort_dim_symbol(&dims, "past");
}

static void tear_down(void) {
    tort_dims_free(&dims);
    tort_arena_free(&arena);
}

TestSuite(shape_arithmetic, .init = set_up, .fini = tear_down);

/* ---- making and reading values --------------------------------------------------------------------------------- */

static tort_info shaped(int32_t rank, const tort_dim *shape) {
    tort_info info = {.kind = TORT_TENSOR, .type = TORT_FLOAT, .nest = -1, .rank = rank};
    for (int32_t k = 0; k < rank; k++) info.dims[k] = shape[k];
    return info;
}
#define SHAPED(...) shaped((int32_t)(sizeof((tort_dim[]){__VA_ARGS__}) / sizeof(tort_dim)), (tort_dim[]){__VA_ARGS__})

/* A list of integers whose contents are known. */
static tort_info list_of(int32_t count, const tort_scalar *values) {
    tort_info info = {.kind = TORT_TENSOR, .type = TORT_INT64, .nest = -1, .rank = 1, .dims = {count}};
    tort_scalar *copy = tort_arena_array(&arena, (size_t)count + 1, sizeof *copy);
    for (int32_t k = 0; k < count; k++) copy[k] = values[k];
    info.elements = copy;
    info.element_count = count;
    return info;
}
#define LIST(...)                                                                                                      \
    list_of((int32_t)(sizeof((tort_scalar[]){__VA_ARGS__}) / sizeof(tort_scalar)), (tort_scalar[]){__VA_ARGS__})

static tort_scalar number(int64_t value) {
    return tort_scalar_known(value);
}

static tort_scalar size(tort_dim d) {
    return tort_scalar_of_dim(d);
}

static tort_info scalar(tort_scalar value) {
    tort_info info = list_of(1, &value);
    info.rank = 0;
    return info;
}

static const tort_op *find(const char *name, int opset) {
    for (const tort_op *const *family = tort_build.families; *family; family++) {
        for (const tort_op *row = *family; row->name; row++) {
            if (!strcmp(row->name, name) && row->since <= opset && opset <= row->until) return row;
        }
    }
    return NULL;
}

static tort_attribute integer(const char *name, int64_t value) {
    return (tort_attribute){.name = name, .kind = TORT_ATTR_INT, .count = 1, .u.i = value};
}

enum { MAX_OUTPUTS = 4 };
static tort_info outputs[MAX_OUTPUTS];

/* infer of opset 18; fills `outputs`. */
static tort_status infer(const char *name, const tort_attribute *attributes, int32_t attribute_count,
                         const tort_info *inputs, int32_t input_count, int32_t output_count) {
    const tort_op *row = find(name, 18);
    cr_assert_not_null(row);
    for (int32_t k = 0; k < MAX_OUTPUTS; k++) outputs[k] = (tort_info){.rank = -1, .nest = -1};
    tort_node_view view = {.op = row,
                           .name = name,
                           .opset = 18,
                           .attributes = attributes,
                           .attribute_count = attribute_count,
                           .inputs = inputs,
                           .input_count = input_count,
                           .outputs = outputs,
                           .output_count = output_count};
    tort_infer call = {.node = &view, .outputs = outputs, .dims = &dims, .arena = &arena, .error = &error};
    return row->infer(&call);
}

#define INFER(name, ...)                                                                                               \
    infer(name, NULL, 0, (tort_info[]){__VA_ARGS__},                                                                   \
          (int32_t)(sizeof((tort_info[]){__VA_ARGS__}) / sizeof(tort_info)), 1)
#define INFER_WITH(name, attribute, output_count, ...)                                                                 \
    infer(name, (tort_attribute[]){attribute}, 1, (tort_info[]){__VA_ARGS__},                                          \
          (int32_t)(sizeof((tort_info[]){__VA_ARGS__}) / sizeof(tort_info)), output_count)

/* "[batch, 12, seq]" */
static void assert_shape(int32_t o, const char *expected) {
    char text[400] = "[", dim[100];
    for (int32_t k = 0; k < outputs[o].rank; k++) {
        if (k) strcat(text, ", ");
        strcat(text, tort_dim_text(&dims, outputs[o].dims[k], dim, sizeof dim));
    }
    strcat(text, "]");
    cr_assert_geq(outputs[o].rank, 0);
    cr_assert_str_eq(text, expected);
}

static void assert_elements(const char *expected) {
    char text[400] = "", entry[100];
    cr_assert_not_null(outputs[0].elements);
    for (int32_t k = 0; k < outputs[0].element_count; k++) {
        tort_scalar value = outputs[0].elements[k];
        if (k) strcat(text, ", ");
        if (value.symbolic) {
            strcat(text, tort_dim_text(&dims, value.value, entry, sizeof entry));
        } else {
            snprintf(entry, sizeof entry, "%lld", (long long)value.value);
            strcat(text, entry);
        }
    }
    cr_assert_str_eq(text, expected);
}

/* ---- Reshape --------------------------------------------------------------------------------------------------- */

Test(shape_arithmetic, reshape_splits_heads_and_keeps_the_sequence) {
    cr_assert_eq(INFER("Reshape", SHAPED(batch, seq, 768), LIST(size(batch), number(-1), number(12), number(64))), 0);
    assert_shape(0, "[batch, seq, 12, 64]");
    cr_assert_eq(INFER("Reshape", SHAPED(batch, seq, 12, 64), LIST(number(0), number(0), number(-1))), 0);
    assert_shape(0, "[batch, seq, 768]");
    cr_assert_eq(INFER("Reshape", SHAPED(batch, seq, 768), LIST(number(-1), number(768))), 0);
    assert_shape(0, "[batch*seq, 768]");
    cr_assert_eq(
        INFER("Reshape", SHAPED(tort_dim_mul(&dims, batch, seq), 768), LIST(size(batch), size(seq), number(-1))), 0);
    assert_shape(0, "[batch, seq, 768]");
}

Test(shape_arithmetic, reshape_solves_an_entry_of_which_nothing_is_known) {
    cr_assert_eq(INFER("Reshape", SHAPED(batch, seq, 64),
                       LIST(tort_scalar_unknown(&dims, true), size(seq), number(8), number(8))),
                 0);
    assert_shape(0, "[batch, seq, 8, 8]");
}

Test(shape_arithmetic, reshape_of_empty_tensors) {
    cr_assert_eq(INFER("Reshape", SHAPED(0, 4, 5), LIST(number(0), number(-1))), 0);
    assert_shape(0, "[0, 20]");
    cr_assert_eq(INFER("Reshape", SHAPED(0), LIST(number(0), number(3))), 0);
    assert_shape(0, "[0, 3]");
    cr_assert_eq(INFER_WITH("Reshape", integer("allowzero", 1), 1, SHAPED(3, 0), LIST(number(0), number(7))), 0);
    assert_shape(0, "[0, 7]");
}

Test(shape_arithmetic, reshape_refuses_what_cannot_be) {
    cr_assert_eq(INFER("Reshape", SHAPED(2, 3), LIST(number(4))), TORT_E_MODEL);
    cr_assert_eq(INFER("Reshape", SHAPED(2, 3), LIST(number(4), number(-1))), TORT_E_MODEL);
    cr_assert_eq(INFER("Reshape", SHAPED(2, 3), LIST(number(-1), number(-1))), TORT_E_MODEL);
    cr_assert_eq(INFER("Reshape", SHAPED(2, 3), LIST(number(-2), number(3))), TORT_E_MODEL);
    cr_assert_eq(INFER("Reshape", SHAPED(6), LIST(number(6), number(0))), TORT_E_MODEL);
}

/* ---- Slice, Concat, Split -------------------------------------------------------------------------------------- */

static tort_status slice(tort_scalar start, tort_scalar end, int64_t step) {
    return INFER("Slice", SHAPED(batch, seq), LIST(start), LIST(end), LIST(number(1)), LIST(number(step)));
}

Test(shape_arithmetic, slice_of_a_symbolic_dimension) {
    cr_assert_eq(slice(number(0), number(INT64_MAX), 1), 0);
    assert_shape(0, "[batch, seq]");
    cr_assert_eq(slice(number(0), size(seq), 1), 0);
    assert_shape(0, "[batch, seq]");
    cr_assert_eq(slice(number(1), number(INT32_MAX), 1), 0);
    assert_shape(0, "[batch, seq-1]");
    cr_assert_eq(slice(number(0), number(-2), 1), 0);
    assert_shape(0, "[batch, seq-2]");
    cr_assert_eq(slice(number(-1), number(INT64_MAX), 1), 0);
    assert_shape(0, "[batch, min(seq, 1)]");
    cr_assert_eq(slice(number(-1), number(INT64_MIN), -1), 0);
    assert_shape(0, "[batch, seq]");
    cr_assert_eq(slice(number(0), number(INT64_MAX), 2), 0);
    assert_shape(0, "[batch, (seq+1)/2]");
}

Test(shape_arithmetic, slice_takes_entries_of_a_shape) {
    cr_assert_eq(INFER("Slice", LIST(size(batch), number(12), size(seq)), LIST(number(-1)), LIST(number(INT64_MIN)),
                       LIST(number(0)), LIST(number(-2))),
                 0);
    assert_shape(0, "[2]");
    assert_elements("seq, batch");
}

Test(shape_arithmetic, slice_refuses_what_cannot_be) {
    cr_assert_eq(slice(number(0), number(1), 0), TORT_E_MODEL);
    cr_assert_eq(INFER("Slice", SHAPED(4), LIST(number(0)), LIST(number(1)), LIST(number(1))), TORT_E_MODEL);
    cr_assert_eq(INFER("Slice", SHAPED(4), LIST(number(0)), LIST(number(1), number(2))), TORT_E_MODEL);
}

Test(shape_arithmetic, concat_adds) {
    cr_assert_eq(INFER_WITH("Concat", integer("axis", 1), 1, SHAPED(batch, past, 64), SHAPED(batch, seq, 64)), 0);
    assert_shape(0, "[batch, seq+past, 64]");
    cr_assert_eq(INFER_WITH("Concat", integer("axis", 0), 1, LIST(size(batch)), LIST(number(-1), size(seq))), 0);
    assert_elements("batch, -1, seq");
    cr_assert_eq(INFER_WITH("Concat", integer("axis", 0), 1, SHAPED(2, 3), SHAPED(2, 4)), TORT_E_MODEL);
    cr_assert_eq(INFER_WITH("Concat", integer("axis", 0), 1, SHAPED(INT64_MAX), SHAPED(1)), TORT_E_MODEL);
}

Test(shape_arithmetic, split_into_parts) {
    cr_assert_eq(INFER_WITH("Split", integer("axis", 0), 2, SHAPED(tort_dim_mul(&dims, 2, seq))), 0);
    assert_shape(0, "[seq]");
    assert_shape(1, "[seq]");
    cr_assert_eq(INFER_WITH("Split", integer("axis", 0), 3, SHAPED(tort_dim_mul(&dims, 3, seq))), 0);
    assert_shape(1, "[seq]");
    cr_assert_eq(INFER_WITH("Split", integer("axis", 0), 3, SHAPED(7)), 0);
    assert_shape(0, "[3]");
    assert_shape(2, "[1]");
    cr_assert_eq(INFER_WITH("Split", integer("axis", 0), 2, SHAPED(7), LIST(number(4), number(4))), TORT_E_MODEL);
}

/* Whatever the size turns out to be, with fewer elements than parts as well: chunks, then a shorter one, then empty
 * ones. */
Test(shape_arithmetic, split_of_an_unknown_axis_into_parts_that_may_be_empty) {
    for (int32_t parts = 2; parts <= MAX_OUTPUTS; parts++) {
        cr_assert_eq(INFER_WITH("Split", integer("axis", 0), parts, SHAPED(seq)), 0);
        for (int64_t length = 0; length <= 12; length++) {
            tort_dim_binding binding = {seq, length};
            int64_t part = (length + parts - 1) / parts, left = length;
            for (int32_t i = 0; i < parts; i++) {
                int64_t wanted = left < part ? left : part, found = -1;
                left -= wanted;
                cr_assert(tort_dim_evaluate(&dims, outputs[i].dims[0], &binding, 1, &found));
                cr_assert_eq(found, wanted, "part %d of %d of %lld is %lld", i, parts, (long long)length,
                             (long long)found);
            }
        }
    }
}

/* ---- the rest -------------------------------------------------------------------------------------------------- */

Test(shape_arithmetic, shape_and_size) {
    cr_assert_eq(INFER_WITH("Shape", integer("start", -2), 1, SHAPED(batch, seq, 64)), 0);
    assert_elements("seq, 64");
    cr_assert_eq(INFER("Size", SHAPED(batch, seq, 64)), 0);
    assert_elements("64*batch*seq");
}

Test(shape_arithmetic, range_of_positions) {
    tort_scalar end = tort_scalar_add(&dims, size(past), size(seq));
    cr_assert_eq(INFER("Range", scalar(size(past)), scalar(end), scalar(number(1))), 0);
    assert_shape(0, "[seq]");
    cr_assert_eq(INFER("Range", scalar(number(0)), scalar(number(7)), scalar(number(3))), 0);
    assert_shape(0, "[3]");
    assert_elements("0, 3, 6");
    cr_assert_eq(INFER("Range", scalar(number(0)), scalar(number(7)), scalar(number(0))), TORT_E_MODEL);
}

/* expand(x, [-1, ...]) of torch: Where(Equal(shape, -1), 1, shape). */
Test(shape_arithmetic, expand_to_a_computed_shape) {
    tort_info shape = LIST(size(batch), number(1), size(seq), size(seq));
    tort_info ones = LIST(number(1), number(1), number(1), number(1));
    tort_info minus = LIST(number(-1), number(-1), number(-1), number(-1));
    cr_assert_eq(INFER("Equal", shape, minus), 0);
    assert_elements("0, 0, 0, 0");
    tort_info equal = outputs[0];
    cr_assert_eq(INFER("Where", equal, ones, shape), 0);
    assert_elements("batch, 1, seq, seq");
    tort_info wanted = outputs[0];
    cr_assert_eq(INFER("Expand", SHAPED(1, 1, 1, seq), wanted), 0);
    assert_shape(0, "[batch, 1, seq, seq]");
}

Test(shape_arithmetic, tile_pad_and_transpose) {
    cr_assert_eq(INFER("Tile", SHAPED(1, seq), LIST(size(batch), number(2))), 0);
    assert_shape(0, "[batch, 2*seq]");
    tort_attribute mode = {.name = "mode", .kind = TORT_ATTR_STRING, .count = 1, .u.s = {"constant", 8}};
    cr_assert_eq(INFER_WITH("Pad", mode, 1, SHAPED(batch, seq), LIST(number(0), number(1), number(0), number(2))), 0);
    assert_shape(0, "[batch, seq+3]");
    cr_assert_eq(INFER("Transpose", SHAPED(batch, seq, 64)), 0);
    assert_shape(0, "[64, seq, batch]");
}
