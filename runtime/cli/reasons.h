/* reasons.h - nodes that are away from where they could be, grouped by operator and reason. */
#ifndef TORT_CLI_REASONS_H
#define TORT_CLI_REASONS_H

#include "runtime/tinyort.h"

enum { CLI_EXAMPLES = 3 };

/* Nodes of one operator that are in one place for the same reasons, but for the numbers in them. */
typedef struct cli_reason {
    const tort_report_node *examples[CLI_EXAMPLES]; /* the first of them */
    int32_t nodes;
    int32_t behind; /* further nodes that could not be placed because of these */
    bool varies;    /* the numbers in the reasons differ from node to node */
} cli_reason;

typedef struct cli_reasons {
    cli_reason *list; /* nodes without a provider first, then those that fell back, then better kernels that refused */
    int32_t count;
} cli_reasons;

/* Refusals that are told. A kernel of the provider that serves, made for other nodes, is no loss: only CLI_ALL tells
 * it. */
typedef enum cli_detail { CLI_LOSSES, CLI_ALL } cli_detail;

/* The caller frees with cli_reasons_free, before the report. */
cli_reasons cli_reasons_of(const tort_report *report, cli_detail detail);
void cli_reasons_free(cli_reasons *reasons);

/* Why a node is where it is: what refused it before. A provider that is down says so once, elsewhere. The caller frees.
 */
char *cli_reason_text(const tort_report_node *node, cli_detail detail, bool with_cures);
/* The same of a group, with cures, and how many nodes stand behind it. The caller frees. */
char *cli_group_text(const cli_reason *reason, cli_detail detail);
/* Is there anything to say of the node in this detail? Of one that stands behind another, that one says it. */
bool cli_has_reason(const tort_report_node *node, cli_detail detail);
/* Is the node elsewhere, or on a lesser kernel, than it could be? */
bool cli_is_loss(const tort_report_node *node);

/* Where in the report the node of this index is; -1: it is not there, as one that was fused into another. */
int32_t cli_place_of(const tort_report *report, int32_t index);
/* Of each node, how many others could not be placed because of it. The caller frees. */
int32_t *cli_behind(const tort_report *report);
/* The node that is the cause of this one's trouble; -1: it has its own, or none. */
int32_t cli_root_of(const tort_report_node *node);
bool cli_is_down(const tort_report_verdict *verdict); /* the provider did not open */
/* Did nothing refuse this node but providers that are down? */
bool cli_only_down(const tort_report_node *node);
/* The refusal of another provider than the one that serves, if possible of one that did open; NULL: none. */
const tort_report_verdict *cli_refusal_elsewhere(const tort_report_node *node);

#endif
