/* report_json.h - the JSON that all commands which open providers have in common. */
#ifndef TORT_CLI_REPORT_JSON_H
#define TORT_CLI_REPORT_JSON_H

#include "runtime/cli/json.h"
#include "runtime/include/tinyort_profile.h"

/* Adds "model": path, IR version and opsets. */
void cli_json_model(cJSON *object, const tort_model *model, const char *path);
/* Adds "chain": names; "providers": state, and cause and cure if down; "summary": node counts of each provider, host,
 * folded, fused, unplaced, fallen back; "fallbacks": each node that fell back, with the refusal that caused it. */
void cli_json_placement(cJSON *object, const tort_report *report);
/* cli_json_placement, and the rest of a plan: "nodes" (each with what it is, described.h), "copies", "folded",
 * "memory", "host_memory", "recording". */
void cli_json_plan(cJSON *object, tort_session *session, const tort_report *report);
/* The node that prevents recording; NULL: none. */
const tort_report_node *cli_recording_node(const tort_report *report);
/* Adds "error": how a command failed, with its exit status. report may be NULL. */
void cli_json_error(cJSON *object, const tort_error *error, int exit_status, const tort_report *report);

#endif
