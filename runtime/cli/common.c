/* common.c - what several subcommands need: opening, the placement line, progress, small texts. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/files.h"
#include "runtime/suggest.h"
#include "runtime/memory.h"

/* ---- errors ---------------------------------------------------------------------------------------------------- */

static int exit_status(tort_status status) {
    switch (status) {
    case TORT_OK: return CLI_OK;
    case TORT_E_USAGE: return CLI_USAGE;
    case TORT_E_MODEL:
    case TORT_E_INPUT:
    case TORT_E_IO: return CLI_BAD_INPUT;
    case TORT_E_PLACEMENT:
    case TORT_E_UNSUPPORTED:
    case TORT_E_MEMORY: return CLI_REFUSED;
    case TORT_E_RUN:
    case TORT_E_DEVICE_LOST: return CLI_FAILED;
    case TORT_E_INTERNAL: break;
    }
    return CLI_INTERNAL;
}

int cli_fail(const char *command, const tort_error *error) {
    cli_progress_end();
    fprintf(stderr, "tinyort %s: %s\n", command, error->msg);
    return exit_status(error->code);
}

/* ---- opening --------------------------------------------------------------------------------------------------- */

tort_status cli_open_model(const cli_options *options, const char *path, tort_model **model, tort_error *error) {
    *model = NULL;
    tort_status status = cli_check_file(path, error);
    if (status) return status;
    cli_progress("loading %s", path);
    status = tort_model_load(NULL, path, &options->load, model, error);
    cli_progress_end();
    return status;
}

tort_session_options cli_session_options(const cli_options *options, const char *chain) {
    return (tort_session_options){
        .struct_size = sizeof(tort_session_options),
        .chain = chain,
        .target = options->target,
        .disabled = getenv("TINYORT_DISABLE"),
        .require = options->require,
        .strict = options->strict,
        .allow = options->allow,
        .pins = options->pins,
        .pin_count = options->pin_count,
        .bindings = options->bindings,
        .binding_count = options->binding_count,
        .shapes = options->shapes,
        .shape_count = options->shape_count,
        .dynamic_limit = options->dynamic_limit,
    };
}

static tort_status check_shape(const tort_model *model, const tort_input_shape *shape, tort_error *error) {
    int32_t count = tort_model_input_count(model);
    const char **names = cli_alloc((size_t)count, sizeof *names);
    tort_status status = TORT_OK;
    int32_t at = -1;
    for (int32_t i = 0; i < count; i++) {
        names[i] = tort_model_input(model, i).name;
        if (!strcmp(names[i], shape->name)) at = i;
    }
    char hint[200], given[200], declared[200];
    if (at < 0)
        status = tort_fail(error, TORT_E_USAGE, "--shape: the model has no input '%s'%s", shape->name,
                           tort_did_you_mean(shape->name, names, (size_t)count, hint, sizeof hint));
    free(names);
    if (status) return status;
    tort_port port = tort_model_input(model, at);
    bool fits = port.rank < 0 || port.rank == shape->rank;
    for (int32_t i = 0; fits && i < port.rank; i++) fits = port.dims[i] < 0 || port.dims[i] == shape->dims[i];
    if (fits) return TORT_OK;
    return tort_fail(error, TORT_E_USAGE, "--shape: input '%s' is %s in the model, which %s does not fit", port.name,
                     cli_shape_text(port.rank, port.dims, port.dim_names, declared, sizeof declared),
                     cli_shape_text(shape->rank, shape->dims, NULL, given, sizeof given));
}

tort_status cli_check_shapes(const cli_options *options, const tort_model *model, tort_error *error) {
    for (int32_t i = 0; i < options->shape_count; i++) {
        tort_status status = check_shape(model, &options->shapes[i], error);
        if (status) return status;
    }
    return TORT_OK;
}

tort_status cli_open_session(const cli_options *options, const tort_model *model,
                             const tort_session_options *session_options, tort_session **session, tort_error *error) {
    *session = NULL;
    tort_status status = cli_check_shapes(options, model, error);
    if (status) return status;
    cli_progress(session_options->plan_only ? "planning" : "planning, and preparing weights");
    status = tort_session_create(NULL, model, session_options, session, error);
    cli_progress_end();
    return status;
}

/* ---- progress and time ----------------------------------------------------------------------------------------- */

void cli_progress(const char *format, ...) {
    if (!isatty(STDERR_FILENO)) return;
    va_list arguments;
    va_start(arguments, format);
    fputs("\r\033[K", stderr);
    vfprintf(stderr, format, arguments);
    fputs(" ...", stderr);
    fflush(stderr);
    va_end(arguments);
}

void cli_progress_end(void) {
    if (isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
}

double cli_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- texts ----------------------------------------------------------------------------------------------------- */

const char *cli_shape_text(int32_t rank, const int64_t *dims, const char *const *dim_names, char *buffer, size_t size) {
    if (rank <= 0) {
        snprintf(buffer, size, rank < 0 ? "of any rank" : "scalar");
        return buffer;
    }
    size_t used = 0;
    buffer[0] = 0;
    for (int32_t i = 0; i < rank && used < size; i++) {
        const char *by = i ? "x" : "";
        int length;
        if (dims[i] >= 0)
            length = snprintf(buffer + used, size - used, "%s%lld", by, (long long)dims[i]);
        else
            length = snprintf(buffer + used, size - used, "%s%s", by, dim_names && *dim_names[i] ? dim_names[i] : "?");
        used += length > 0 ? (size_t)length : 0;
    }
    return buffer;
}

const char *cli_bytes_text(double bytes, char *buffer, size_t size) {
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    size_t unit = 0;
    while (bytes >= 999.5 && unit + 1 < sizeof units / sizeof *units) {
        bytes /= 1000;
        unit++;
    }
    snprintf(buffer, size, unit == 0 || bytes >= 99.95 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
    return buffer;
}

void cli_print_json(struct cJSON *root) {
    char *text = cli_check_memory(cJSON_Print(root));
    puts(text);
    cJSON_free(text);
    cJSON_Delete(root);
}
