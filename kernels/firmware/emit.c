/* emit.c - prints calls of the functions in kernels/firmware/code as C. */
#include "kernels/firmware/firmware.h"
#include "runtime/compile/compile.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Text that grows in the room for a call; `used` counts what did not fit, too. */
typedef struct printer {
    tort_emit *emit;
    size_t used;
} printer;

static void __attribute__((format(printf, 2, 3))) print(printer *to, const char *format, ...) {
    const size_t size = sizeof to->emit->call;
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(to->emit->call + (to->used < size ? to->used : size),
                                 to->used < size ? size - to->used : 0, format, arguments);
    va_end(arguments);
    to->used += length > 0 ? (size_t)length : size;
}

tort_status tort_firmware_emit_with(tort_emit *emit, const tort_firmware_call *call, const char *const *operands) {
    printer to = {.emit = emit};
    const char *name = call->members;
    char number[TORT_COMPILE_FLOAT];
    /* static const: in flash, where a compound literal would be built on the stack in each call */
    print(&to, "{\n        static const %s_shape shape = {", call->function);
    for (int32_t i = 0; *name; i++) {
        const size_t length = strcspn(name, " ");
        print(&to, "%s.%.*s = %" PRId32, i ? ", " : "", (int)length, name, call->shape[i]);
        name += length + (name[length] == ' ');
    }
    print(&to, "};\n        %s(&shape", call->function);
    for (int32_t i = 0; operands[i]; i++) print(&to, ", %s", operands[i]);
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
