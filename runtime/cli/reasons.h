/* reasons.h - nodes that do not run where they could, grouped by operator and reason. */
#ifndef TORT_CLI_REASONS_H
#define TORT_CLI_REASONS_H

#include "runtime/include/tinyort.h"

enum { CLI_EXAMPLES = 3 };

/* Nodes of one operator on one provider with the same reasons, apart from the numbers in them. */
typedef struct cli_reason {
    const tort_report_node *examples[CLI_EXAMPLES]; /* the first nodes */
    int32_t nodes;
    int32_t behind; /* further nodes that could not be placed because of these */
    bool varies;    /* the numbers in the reasons differ from node to node */
} cli_reason;

typedef struct cli_reasons {
    cli_reason *list; /* unplaced nodes first, then fallen back, pinned, refused by a better kernel */
    int32_t count;
} cli_reasons;

/* Refusals to show. A refusal by a kernel of the serving provider that is made for other nodes is no loss: only CLI_ALL
 * shows it. */
typedef enum cli_detail { CLI_LOSSES, CLI_ALL } cli_detail;

/* Groups the nodes of a report. The caller frees the groups with cli_reasons_free, before the report. */
cli_reasons cli_reasons_of(const tort_report *report, cli_detail detail);
void cli_reasons_free(cli_reasons *reasons);

/* The refusals that put a node where it is, as text. A provider that is down is left out, as it is shown once
 * elsewhere. The caller frees. */
char *cli_reason_text(const tort_report_node *node, cli_detail detail, bool with_cures);
/* cli_reason_text of a group, with cures and the number of nodes that it blocks. The caller frees. */
char *cli_group_text(const cli_reason *reason, cli_detail detail);
/* True if both texts are equal, or both NULL. */
bool cli_same_text(const char *a, const char *b);
/* True if the node has reasons to show. A node that is blocked by another has none: the other shows them. */
bool cli_has_reason(const tort_report_node *node, cli_detail detail);
/* True if the node is unplaced, has fallen back, or was refused by a better kernel. */
bool cli_is_loss(const tort_report_node *node);

/* Why a product of 8-bit numbers runs in float32; NULL: the node is none, or multiplies integers. */
const tort_report_verdict *cli_widened(const tort_report_node *node);
/* Position in report->nodes of the node with this index; -1 if it is not there, as when it was fused into another. */
int32_t cli_place_of(const tort_report *report, int32_t index);
/* Per node, the number of other nodes that could not be placed because of it. The caller frees. */
int32_t *cli_behind(const tort_report *report);
/* Index of the node that blocks this one; -1 if none does. */
int32_t cli_root_of(const tort_report_node *node);
bool cli_is_for_firmware(const tort_report *report);  /* its plan is shown by --ep firmware */
bool cli_is_down(const tort_report_verdict *verdict); /* the provider did not open, or is disabled */
/* A refusal by another provider than the one that serves, if possible by one that did open; NULL: none. */
const tort_report_verdict *cli_refusal_elsewhere(const tort_report_node *node);

#endif
