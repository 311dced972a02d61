/* code.c - the sources that `tinyort compile` prints, by name: headers of kernels/firmware/code, and the functions of
 * functions.h and functions_whole.h. The build makes rows of them: what is printed is what the rows of kernels run. */
#include "kernels/firmware/code/functions.h"
#include "kernels/firmware/code/functions_whole.h"
#include "kernels/firmware/firmware.h"

enum { MAX_INCLUDES = 5 };

/* Headers: "tinyort_" and the name of the file, the headers that it includes, and the text without these lines. */
static const struct {
    const char *name, *includes[MAX_INCLUDES], *text;
} headers[] = {
#include "kernels/firmware/code.inc"
};

/* Functions that operators choose by name; text NULL: a header has it. */
static const struct {
    const char *name;
    tort_firmware_function *function;
    const char *text;
} functions[] = {
    {"tinyort_exp", (tort_firmware_function *)tinyort_exp, NULL},
    {"tinyort_log", (tort_firmware_function *)tinyort_log, NULL},
#include "kernels/firmware/functions.inc"
};

enum { HEADERS = sizeof headers / sizeof *headers, FUNCTIONS = sizeof functions / sizeof *functions };

/* The place of a name, which there is. */
static size_t find(const char *name) {
    size_t i = 0;
    while (strcmp(functions[i].name, name) != 0) i++;
    return i;
}

tort_firmware_function *tort_firmware_function_of(const char *name) {
    return functions[find(name)].function;
}

const char *tort_firmware_name_of(const void *function) {
    for (size_t i = 0; i < FUNCTIONS; i++)
        if ((const void *)functions[i].function == function) return functions[i].name;
    return NULL;
}

const char *tort_firmware_struct_of(const char *type) {
    const size_t length = strlen(type);
    for (size_t i = 0; i < HEADERS; i++)
        for (const char *at = headers[i].text; (at = strstr(at, "typedef struct ")); at++)
            if (!strncmp(at + 15, type, length) && at[15 + length] == ' ') return at + 15 + length + 2;
    return NULL;
}

/* True if the text calls the function. */
static bool calls(const char *text, const char *name) {
    const size_t length = strlen(name);
    while ((text = strstr(text, name)) && text[length] != '(') text += length;
    return text != NULL;
}

static tort_status add_text(tort_emit *emit, const char *text) {
    enum { ROOM = sizeof emit->code / sizeof *emit->code };
    size_t i = 0;
    while (i < ROOM && emit->code[i] && emit->code[i] != text) i++;
    if (i == ROOM) return tort_fail(emit->error, TORT_E_INTERNAL, "a call needs more than %d sources", (int)ROOM);
    emit->code[i] = text;
    return TORT_OK;
}

static tort_status add_header(tort_emit *emit, size_t header, bool whole) {
    tort_status status = TORT_OK;
    for (size_t i = 0; !status && headers[header].includes[i]; i++)
        status = tort_firmware_need(emit, headers[header].includes[i], whole);
    return status ? status : add_text(emit, headers[header].text);
}

/* A function of functions.h comes after the headers and the functions that it calls. */
static tort_status add_function(tort_emit *emit, size_t function, bool whole) {
    const char *text = functions[function].text;
    tort_status status = TORT_OK;
    for (size_t i = 0; !status && i < HEADERS; i++)
        if (calls(text, headers[i].name)) status = add_header(emit, i, whole);
    for (size_t i = 0; !status && i < function; i++)
        if (functions[i].text && calls(text, functions[i].name)) status = add_function(emit, i, whole);
    return status ? status : add_text(emit, text);
}

/* True if the header has the name, and "_whole" behind it if asked for. */
static bool is_header(size_t header, const char *name, bool whole) {
    const size_t length = strlen(name);
    return !strncmp(headers[header].name, name, length) &&
           !strcmp(headers[header].name + length, whole ? "_whole" : "");
}

tort_status tort_firmware_need(tort_emit *emit, const char *name, bool whole) {
    for (size_t i = 0; whole && i < HEADERS; i++)
        if (is_header(i, name, true)) return add_header(emit, i, true);
    for (size_t i = 0; i < HEADERS; i++)
        if (is_header(i, name, false)) return add_header(emit, i, whole);
    for (size_t i = 0; i < FUNCTIONS; i++)
        if (!strcmp(functions[i].name, name)) return add_function(emit, i, whole);
    return tort_fail(emit->error, TORT_E_INTERNAL, "no source has %s", name);
}
