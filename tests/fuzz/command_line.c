/* command_line.c - libFuzzer's entry: any bytes are a command and its arguments, one a line. What is read is held
 * against a small model, which is planned for each of its chains. */
#include <getopt.h>
#include <string.h>

#include "runtime/cli/opening.h"
#include "runtime/cli/options.h"
#include "tests/fuzz/fuzz.h"
#include "tests/onnx_bytes.h"

enum { MAX_ARGUMENTS = 32 };

/* In the order of their bits. */
static const char *const commands[][2] = {{"run", "MODEL"},     {"plan", "MODEL"},   {"providers", ""},
                                          {"inspect", "MODEL"}, {"ops", "[OP]"},     {"test", "DIR..."},
                                          {"compare", "MODEL"}, {"bench", "MODEL"},  {"version", ""},
                                          {"schema", ""},       {"compile", "MODEL"}};

/* y = Softmax(x + w), x of [N, 4]; loaded once. */
static const tort_model *small_model(void) {
    static tort_model *model;
    if (model) return model;
    static const float w[] = {1, 2, 3, 4};
    static onnx_bytes b; /* which the model borrows */
    const int64_t x[] = {-1, 4}, four[] = {4};
    onnx_begin_model(&b, 17);
    onnx_value(&b, GRAPH_INPUT, "x", TORT_FLOAT, 2, x);
    onnx_tensor(&b, GRAPH_INITIALIZER, "w", TORT_FLOAT, 1, four, w, sizeof w);
    onnx_node(&b, "Add", "add", "x w", "s");
    onnx_node(&b, "Softmax", "softmax", "s", "y");
    onnx_value(&b, GRAPH_OUTPUT, "y", TORT_FLOAT, 2, x);
    onnx_end(&b);
    require(!tort_model_load_buffer(NULL, b.data, b.size, NULL, &model, NULL), "the model of this test", "");
    return model;
}

static tort_status plan(cli_options *options, tort_error *error) {
    tort_status status = cli_check_names(options, small_model(), error);
    for (int32_t i = 0; !status && i < options->chains.count + !options->chains.count; i++) {
        tort_session_options session_options = cli_session_options(options, options->chains.items[i]);
        tort_session *session = NULL;
        session_options.plan_only = true;
        status = tort_session_create(NULL, small_model(), &session_options, &session, error);
        tort_session_free(session);
    }
    return status;
}

/* The lines of the text, which is taken apart; the first is the command's name. */
static int split(char *text, char **arguments) {
    int count = 0;
    for (char *line = strtok(text, "\n"); line && count < MAX_ARGUMENTS; line = strtok(NULL, "\n"))
        arguments[count++] = line;
    arguments[count] = NULL;
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    char *text = calloc(size + 1, 1), *arguments[MAX_ARGUMENTS + 1];
    require(text, "no memory", "");
    if (size) memcpy(text, bytes, size);
    const int count = split(text, arguments);
    for (size_t c = 0; count && c < sizeof commands / sizeof *commands; c++) {
        if (strcmp(commands[c][0], arguments[0]) != 0) continue;
        const cli_command command = {.name = commands[c][0], .bit = 1u << c, .operands = commands[c][1]};
        cli_options options;
        tort_error error = {.msg = ""};
        optind = 0; /* getopt_long begins anew */
        tort_status status = cli_options_read(&command, count, arguments, &options, &error);
        if (!status) status = plan(&options, &error);
        require(!status || error.msg[0], "a failure without a message", tort_status_name(status));
        require(status != TORT_E_INTERNAL, "an internal error", error.msg);
        cli_options_free(&options);
    }
    free(text);
    return 0;
}
