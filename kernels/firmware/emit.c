/* emit.c - prints calls of the functions in kernels/firmware/code as C. */
#include "kernels/firmware/firmware.h"
#include "runtime/firmware/compile/compile.h"
#include "runtime/core/base/locale.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 88 }; /* columns after which a new line begins */

/* Text that grows in the room for a call; `used` counts what did not fit, too. */
typedef struct printer {
    tort_emit *emit;
    size_t used;
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

/* Prints a member that the band sets. False: it sets it not. */
static bool print_banded(printer *to, const char *name, size_t length, int32_t value) {
    for (size_t i = 0; i < sizeof banded / sizeof *banded; i++) {
        const size_t own = strlen(banded[i].name);
        const bool is = own <= length && !strncmp(name + length - own, banded[i].name, own) &&
                        (own == length || name[length - own - 1] == '.');
        if (!is) continue;
        print(to, ".%.*s = %s", (int)length, name, banded[i].number);
        if (banded[i].factor) print(to, " * %" PRId32, value);
        return true;
    }
    return false;
}

/* Prints a member, "name" or "name[8]", whose trailing zeros are left out; the number of values it takes. */
static int32_t print_member(printer *to, const char *name, size_t length, const int32_t *values) {
    if (to->emit->banded && print_banded(to, name, length, *values)) return 1;
    const char *bracket = memchr(name, '[', length);
    const int32_t room = bracket ? (int32_t)strtol(bracket + 1, NULL, 10) : 1;
    int32_t count = room;
    while (count > 1 && !values[count - 1]) count--;
    print(to, ".%.*s = %s", (int)(bracket ? (size_t)(bracket - name) : length), name, bracket ? "{" : "");
    for (int32_t i = 0; i < count; i++) print(to, "%s%" PRId32, i ? ", " : "", values[i]);
    print(to, bracket ? "}" : "");
    return room;
}

tort_status tort_firmware_emit_with(tort_emit *emit, const tort_firmware_call *call, const char *const *operands) {
    printer to = {.emit = emit, .used = strlen(emit->call)};
    const char *name = call->members;
    char number[TORT_COMPILE_FLOAT];
    /* static const: in flash, where a compound literal would be built on the stack in each call */
    print(&to, "%s{\n        %sconst %s_shape shape = {", to.used ? "\n    " : "", emit->banded ? "" : "static ",
          call->function);
    size_t line = 0;
    for (int32_t i = 0; *name;) {
        const size_t length = strcspn(name, " ");
        const bool full = to.used > line + LINE;
        print(&to, "%s", !i ? "" : full ? ",\n            " : ", ");
        if (!i || full) line = to.used;
        i += print_member(&to, name, length, call->shape + i);
        name += length + (name[length] == ' ');
    }
    print(&to, "};\n        %s(&shape", call->function);
    line = to.used;
    for (int32_t i = 0; operands[i]; i++) {
        const bool full = to.used + strlen(operands[i]) > line + LINE;
        print(&to, "%s%s", full ? ",\n            " : ", ", operands[i]);
        if (full) line = to.used;
    }
    for (int32_t i = 0; i < call->number_count; i++) print(&to, ", %s", tort_compile_float(call->numbers[i], number));
    print(&to, ");\n    }");
    if (to.used < sizeof emit->call) return TORT_OK;
    return tort_fail(emit->error, TORT_E_INTERNAL, "a call of %s takes %zu bytes, there is room for %zu",
                     call->function, to.used, sizeof emit->call);
}

tort_status tort_firmware_emit(tort_emit *emit, const tort_firmware_call *call) {
    enum { MAX_INPUTS = 16 };
    const char *operands[MAX_INPUTS + 2] = {NULL};
    if (call->inputs > MAX_INPUTS) return tort_fail(emit->error, TORT_E_INTERNAL, "a call has too many operands");
    for (int32_t i = 0; i < call->inputs; i++) operands[i] = i < emit->node->input_count ? emit->inputs[i] : "NULL";
    operands[call->inputs] = emit->outputs[0];
    return tort_firmware_emit_with(emit, call, operands);
}

/* ---- operands as tensors ----------------------------------------------------------------------------------------- */

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

tort_status tort_firmware_open(tort_emit *emit, tort_firmware_step *step) {
    const tort_node_view *node = emit->node;
    const int32_t count = node->input_count + node->output_count;
    step->tensors = calloc((size_t)count + 1, sizeof *step->tensors);
    if (!step->tensors) return tort_out_of_memory(emit->error, (size_t)count * sizeof *step->tensors);
    tort_firmware_call_of(node, step->tensors, &step->call);
    for (int32_t i = 0; i < count; i++) {
        const char *text = i < node->input_count ? emit->inputs[i] : emit->outputs[i - node->input_count];
        step->tensors[i].data = (void *)(uintptr_t)text;
    }
    step->call.scratch = emit;
    step->call.error = emit->error;
    return TORT_OK;
}

tort_status tort_firmware_close(tort_firmware_step *step, tort_status status) {
    free(step->tensors);
    return status;
}
