/* report_json.h - what the JSON of every command that opens providers has in common, written in one place. */
#ifndef TORT_CLI_REPORT_JSON_H
#define TORT_CLI_REPORT_JSON_H

#include "runtime/cli/json.h"
#include "runtime/tinyort_profile.h"

/* "model": the file, and what it says of itself. */
void cli_json_model(cJSON *object, const tort_model *model, const char *path);
/* "chain": names; "providers": what opened, and why not; "summary": nodes of each, of host, folded, unplaced, and how
 * many fell back; "fallbacks": each of these, with the refusal that sent it on. */
void cli_json_placement(cJSON *object, const tort_report *report);
/* The same and the rest of a plan: "nodes", "copies", "folded", "memory", "host_memory", "recording". */
void cli_json_plan(cJSON *object, const tort_report *report);
/* The node that is in the way of recording; NULL: none. */
const tort_report_node *cli_recording_node(const tort_report *report);
/* "error": how a command failed, with its exit status. report: NULL where there is none. */
void cli_json_error(cJSON *object, const tort_error *error, int exit_status, const tort_report *report);

#endif
