/* emit.c - prints calls of the functions in kernels/firmware/code as C. */
#include "kernels/firmware/firmware.h"

#include <inttypes.h>
#include <math.h>
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

/* A float as a constant of C that reads back to the same bits; the sign and payload of a NaN are lost. */
static void print_float(printer *to, float number) {
    char text[32];
    snprintf(text, sizeof text, "%.9g", (double)number);
    if (isnan(number))
        print(to, ", NAN");
    else if (isinf(number))
        print(to, ", %sINFINITY", number < 0 ? "-" : "");
    else
        print(to, ", %s%sf", text, strpbrk(text, ".e") ? "" : ".0");
}

tort_status tort_firmware_emit(tort_emit *emit, const tort_firmware_call *call) {
    printer to = {.emit = emit};
    const char *name = call->members;
    print(&to, "%s(&(const %s_shape){", call->function, call->function);
    for (int32_t i = 0; *name; i++) {
        const size_t length = strcspn(name, " ");
        print(&to, "%s.%.*s = %" PRId32, i ? ", " : "", (int)length, name, call->shape[i]);
        name += length + (name[length] == ' ');
    }
    print(&to, "},\n       "); /* operands stand on a line of their own */
    for (int32_t i = 0; i < call->inputs; i++)
        print(&to, " %s,", i < emit->node->input_count ? emit->inputs[i] : "NULL");
    print(&to, " %s", emit->outputs[0]);
    for (int32_t i = 0; i < call->number_count; i++) print_float(&to, call->numbers[i]);
    print(&to, ");");
    if (to.used < sizeof emit->call) return TORT_OK;
    return tort_fail(emit->error, TORT_E_INTERNAL, "a call of %s takes %zu bytes, there is room for %zu",
                     call->function, to.used, sizeof emit->call);
}
