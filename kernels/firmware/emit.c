/* emit.c - prints calls of the functions in kernels/firmware/code as C: emit of a row is its run with a call that is
 * printed. */
#include "kernels/firmware/bytes.h"
#include "kernels/firmware/code/axes.h"
#include "runtime/core/base/locale.h"
#include "runtime/firmware/compile/compile.h"
#include "runtime/include/bands.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE = 88,        /* columns after which a new line begins */
    COMPILED_AXES = 4 /* TINYORT_AXES of a compiled model, if that is enough */
};

/* Text that grows in the room for a call; `used` counts what did not fit, too. */
typedef struct printer {
    tort_emit *emit;
    size_t used, line; /* line: where the items of a line began; 0: of a list without items */
} printer;

static void __attribute__((format(printf, 2, 3))) print(printer *to, const char *format, ...) {
    const size_t size = sizeof to->emit->call;
    va_list arguments;
    va_start(arguments, format);
    const int length = tort_vsnprintf(to->emit->call + (to->used < size ? to->used : size),
                                      to->used < size ? size - to->used : 0, format, arguments);
    va_end(arguments);
    to->used += length >= 0 ? (size_t)length : size;
}

/* Members of shapes that a band sets: to a number, or, if it is a factor, to the value of one row times it. */
static const struct {
    const char *name, *number;
    bool factor;
} banded[] = {{"height", "band.in_rows", false},  {"top", "band.above", false},    {"out_h", "band.out_rows", false},
              {"before", "band.out_first", true}, {"now", "band.out_rows", true},  {"count", "band.out_rows", true},
              {"d3", "band.out_rows", true},      {"outer", "band.out_rows", true}};

/* Prints a member that the band sets. False: the band does not set it. */
static bool print_banded(printer *to, const char *name, int32_t value) {
    const size_t length = strlen(name);
    for (size_t i = 0; i < sizeof banded / sizeof *banded; i++) {
        const size_t own = strlen(banded[i].name);
        const bool is = own <= length && !strcmp(name + length - own, banded[i].name) &&
                        (own == length || name[length - own - 1] == '.');
        if (!is) continue;
        print(to, ".%s = %s", name, banded[i].number);
        if (banded[i].factor) print(to, " * %" PRId32, value);
        return true;
    }
    return false;
}

/* Begins an item of `length` bytes. */
static void print_next(printer *to, size_t length) {
    const bool full = to->used + length > to->line + LINE;
    print(to, "%s", !to->line ? "" : full ? ",\n    " : ", ");
    if (!to->line || full) to->line = to->used;
}

void tort_firmware_define_line(tort_emit *emit, const char *line) {
    size_t i = 0;
    while (emit->defines[i] && emit->defines[i] != line) i++;
    emit->defines[i] = line;
}

/* Prints a member of `room` values, without trailing zeros. */
static void print_member(printer *to, const char *name, bool list, int32_t room, const int32_t *values) {
    print_next(to, 0);
    if (to->emit->banded && print_banded(to, name, *values)) return;
    int32_t count = room;
    while (count > 1 && !values[count - 1]) count--;
    if (room == TINYORT_AXES && count > COMPILED_AXES)
        tort_firmware_define_line(to->emit, "#define TINYORT_MANY_AXES /* some calls have more than four */");
    print(to, ".%s = %s", name, list ? "{" : "");
    for (int32_t i = 0; i < count; i++) print(to, "%s%" PRId32, i ? ", " : "", values[i]);
    print(to, list ? "}" : "");
}

static const char *skip_blanks(const char *at) {
    while (*at == ' ' || *at == '\n' || *at == '/') at = *at == '/' ? strstr(at, "*/") + 2 : at + 1;
    return at;
}

/* Prints the members of a struct, as its source has them: int32_t, arrays of these, and other structs. Returns what is
 * behind their values. */
static const int32_t *print_struct(printer *to, const char *members, const char *prefix, const int32_t *values) {
    char type[64], name[64];
    for (const char *at = skip_blanks(members); *at != '}'; at = skip_blanks(at + 1)) {
        const size_t length = strcspn(at, " ");
        snprintf(type, sizeof type, "%.*s", (int)length, at);
        at += length;
        do {
            at = skip_blanks(at + 1);
            const size_t own = strcspn(at, "[,;");
            const bool list = at[own] == '[', whole = !strcmp(type, "int32_t");
            const int32_t axes = !strncmp(at + own, "[TINYORT_AXES", 13) ? TINYORT_AXES : 0;
            const int32_t room = axes ? axes : list ? (int32_t)strtol(at + own + 1, NULL, 10) : 1;
            snprintf(name, sizeof name, "%s%.*s%s", prefix, (int)own, at, whole ? "" : ".");
            if (whole) print_member(to, name, list, room, values);
            values = whole ? values + room : print_struct(to, tort_firmware_struct_of(type), name, values);
            at += strcspn(at, ",;");
        } while (*at == ',');
    }
    return values;
}

/* ---- operands ---------------------------------------------------------------------------------------------------- */

/* The text of an operand of a call that is printed; `room` may hold it. */
static const char *text_of(const tort_call *call, const void *data, char *room, size_t size) {
    const tort_emit *emit = tort_firmware_emit_of(call);
    const char *name = tort_firmware_name_of(data);
    if (!data || name) return data ? name : "NULL";
    for (int32_t i = 0; i < call->input_count; i++)
        if (call->inputs[i].data == data) return emit->inputs[i];
    for (size_t i = 0; i < sizeof emit->arrays / sizeof *emit->arrays && emit->arrays[i].count; i++) {
        const size_t bytes = (size_t)tort_type_bits(emit->arrays[i].type) / 8;
        const size_t at = ((uintptr_t)data - (uintptr_t)emit->weights - emit->arrays[i].offset) / bytes;
        if (at >= emit->arrays[i].count) continue; /* also where data is before the array, as `at` wraps */
        const int length = snprintf(room, size, "%s_%d", emit->packed, (int)i);
        if (at) snprintf(room + length, size - (size_t)length, " + %zu", at);
        return room;
    }
    return data;
}

void tort_firmware_array(const tort_call *call, int32_t i, tort_type type, size_t offset, size_t count) {
    tort_emit *emit = tort_firmware_emit_of(call);
    if (emit) emit->arrays[i] = (tort_packed_array){type, offset, count};
}

tort_status tort_firmware_print(const tort_call *call, const char *form, const char *function, const void *shape,
                                const void *const *operands, size_t operand_count, const float *numbers,
                                size_t number_count) {
    tort_emit *emit = tort_firmware_emit_of(call);
    printer to = {.emit = emit, .used = strlen(emit->call)};
    char type[64], room[96];
    const tort_firmware_bytes *own = call->device;
    const bool whole = own && own->whole;
    tort_status status = form ? tort_firmware_need(emit, form, whole) : TORT_OK;
    for (size_t i = 0; !status && i < operand_count; i++)
        if (tort_firmware_name_of(operands[i]))
            status = tort_firmware_need(emit, tort_firmware_name_of(operands[i]), whole);
    if (!status) status = tort_firmware_need(emit, function, whole);
    if (status) return status;
    snprintf(type, sizeof type, "%s_shape", function);
    if (to.used) print(&to, "\n");
    if (emit->banded) print(&to, "{\n    const %s shape = ", type);
    const size_t begin = to.used;
    print(&to, "{");
    const int32_t *end = print_struct(&to, tort_firmware_struct_of(type), "", shape);
    print(&to, "}");
    if (emit->banded)
        print(&to, ";\n    %s(&shape", function);
    else if (to.used < sizeof emit->call) {
        const size_t count = (size_t)(end - (const int32_t *)shape);
        const char *constant = emit->constant(emit->ud, type, emit->call + begin, shape, count);
        if (!constant) return tort_out_of_memory(emit->error, 0);
        to.used = begin;
        print(&to, "%s(%s", function, constant);
    }
    to.line = to.used;
    for (size_t i = 0; i < operand_count; i++) {
        const char *text = text_of(call, operands[i], room, sizeof room);
        print_next(&to, strlen(text));
        print(&to, "%s", text);
    }
    for (size_t i = 0; i < number_count; i++) {
        const char *number = emit->number(emit->ud, numbers[i]);
        if (!number) return tort_out_of_memory(emit->error, 0);
        print(&to, ", %s", number);
    }
    print(&to, emit->banded ? ");\n}" : ");");
    const uint32_t stack = tort_firmware_stack(emit->processor, function, emit->banded);
    if (stack > emit->stack_bytes) emit->stack_bytes = stack;
    if (to.used < sizeof emit->call) return TORT_OK;
    return tort_fail(emit->error, TORT_E_INTERNAL, "a call of %s takes %zu bytes, there is room for %zu", function,
                     to.used, sizeof emit->call);
}

bool tort_firmware_makes_nothing(const tort_call *call) {
    for (int32_t i = 0; i < call->output_count; i++)
        if (tort_present(&call->outputs[i]) && tort_count(&call->outputs[i])) return false;
    return true;
}

/* ---- emit -------------------------------------------------------------------------------------------------------- */

void tort_firmware_call_of(const tort_node_view *node, tort_tensor *tensors, tort_call *call) {
    for (int32_t i = 0; i < node->input_count + node->output_count; i++) {
        const tort_info *info = i < node->input_count ? &node->inputs[i] : &node->outputs[i - node->input_count];
        tort_info_tensor(info, &tensors[i]);
        tensors[i].data = (void *)(uintptr_t)info->data;
    }
    *call = (tort_call){.op = node->op,
                        .params = node->params,
                        .inputs = tensors,
                        .outputs = tensors + node->input_count,
                        .input_count = node->input_count,
                        .output_count = node->output_count,
                        .kernel = node->kernel};
}

tort_status tort_firmware_emit_run(tort_emit *emit, tort_status (*run)(const tort_call *call)) {
    static const tinyort_band one_row = {.in_rows = 1, .out_first = 1, .out_rows = 1};
    const int32_t inputs = emit->node->input_count, count = inputs + emit->node->output_count;
    tort_tensor *tensors = calloc((size_t)count + 1, sizeof *tensors);
    tort_call call;
    if (!tensors) return tort_out_of_memory(emit->error, (size_t)count * sizeof *tensors);
    tort_firmware_call_of(emit->node, tensors, &call);
    for (int32_t i = 0; i < count; i++) {
        const char *text = i < inputs ? emit->inputs[i] : emit->outputs[i - inputs];
        if (!tensors[i].data) tensors[i].data = (void *)(uintptr_t)text;
    }
    call.scratch = (void *)(uintptr_t)emit->scratch;
    call.packed = emit->weights;
    call.device = emit->target ? (void *)(uintptr_t)tort_firmware_bytes_of(emit->target) : NULL;
    call.band = emit->banded ? &one_row : NULL;
    call.fitted = emit;
    call.error = emit->error;
    const tort_status status = run(&call);
    free(tensors);
    return status;
}

tort_status tort_firmware_emit(tort_emit *emit) {
    return tort_firmware_emit_run(emit, emit->node->kernel->run);
}
