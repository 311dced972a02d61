/* schema.c - `tinyort schema`: schema.json, which the build turns into the lines below. */
#include "runtime/cli/cli.h"

static const char *const lines[] = {
#include "runtime/cli/schema.json.inc"
};

int cli_schema(cli_options *options) {
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) cli_print(stdout, "%s\n", lines[i]);
    return cli_end_plain(options, &(tort_error){.code = TORT_OK}, NULL);
}
