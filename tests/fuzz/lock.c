/* lock.c - libFuzzer's entry: any bytes are a lock of a placement, which is compared with one of a node. */
#include "runtime/cli/lock.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static const tort_report_provider cpu = {
        .name = "cpu", .ready = true, .code = "READY", .description = "", .message = "", .cure = ""};
    static const tort_report_node node = {.path = "conv1",
                                          .name = "conv1",
                                          .op = "Conv",
                                          .domain = "",
                                          .provider = "cpu",
                                          .kernel = "reference",
                                          .family = "plain"};
    const tort_report_provider *providers[] = {&cpu};
    const tort_report_node *nodes[] = {&node};
    const tort_report report = {.providers = providers, .provider_count = 1, .nodes = nodes, .node_count = 1};
    char path[64];
    cli_lock locked;
    tort_error error = {.msg = ""};
    TEMPORARY(path, ".lock");
    write_input(path, bytes, size);
    const tort_status status = cli_lock_read(path, &locked, &error);
    require(!status || error.msg[0], "a failure without a message", tort_status_name(status));
    require(status != TORT_E_INTERNAL, "an internal error", error.msg);
    if (!status) {
        cli_lock now = cli_lock_of(&report, NULL);
        cli_moves moves = cli_moves_of(&locked, &now, &report);
        require(moves.moved + moves.added <= moves.nodes, "more moves than nodes", path);
        require(moves.gone <= locked.count, "more nodes are gone than there were", path);
        cli_moves_free(&moves);
        cli_lock_free(&now);
    }
    cli_lock_free(&locked);
    remove(path);
    return 0;
}
