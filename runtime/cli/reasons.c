/* reasons.c - groups the nodes of a report by their refusals (reasons.h). Time is linear in the number of nodes. */
#include <stdlib.h>
#include <string.h>

#include "runtime/core/base/hash.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/reasons.h"
#include "runtime/core/base/ascii.h"

bool cli_is_down(const tort_report_verdict *verdict) {
    return !verdict->precision && (verdict->code == TORT_PROVIDER_DOWN || verdict->code == TORT_DISABLED);
}

const tort_report_verdict *cli_widened(const tort_report_node *node) {
    for (int32_t i = 0; i < node->verdict_count; i++)
        if (node->verdicts[i]->precision) return node->verdicts[i];
    return NULL;
}

/* True if the node was refused by providers that are down, and by nothing else. */
static bool only_down(const tort_report_node *node) {
    bool down = node->verdict_count > 0;
    for (int32_t i = 0; i < node->verdict_count; i++) down = down && cli_is_down(node->verdicts[i]);
    return down;
}

const tort_report_verdict *cli_refusal_elsewhere(const tort_report_node *node) {
    const tort_report_verdict *found = NULL;
    for (int32_t i = 0; i < node->verdict_count; i++) {
        const tort_report_verdict *verdict = node->verdicts[i];
        if (verdict->code == TORT_YES || verdict->fusion || verdict->precision ||
            (node->provider && !strcmp(verdict->provider, node->provider)))
            continue;
        if (!found || (cli_is_down(found) && !cli_is_down(verdict))) found = verdict;
    }
    return found;
}

int32_t cli_root_of(const tort_report_node *node) {
    for (int32_t i = 0; i < node->verdict_count; i++)
        if (node->verdicts[i]->root >= 0 && node->verdicts[i]->root != node->index) return node->verdicts[i]->root;
    return -1;
}

int32_t cli_place_of(const tort_report *report, int32_t index) {
    int32_t low = 0, high = report->node_count;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (report->nodes[middle]->index < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low < report->node_count && report->nodes[low]->index == index ? low : -1;
}

int32_t *cli_behind(const tort_report *report) {
    int32_t *behind = cli_alloc((size_t)report->node_count, sizeof *behind);
    for (int32_t i = 0; i < report->node_count; i++) {
        const int32_t root = report->nodes[i]->provider ? -1 : cli_place_of(report, cli_root_of(report->nodes[i]));
        if (root >= 0) behind[root]++;
    }
    return behind;
}

/* ---- in words ---------------------------------------------------------------------------------------------------- */

/* True if the kernel that refused would serve this node in another build, on another device or with other options. */
static bool is_better_kernel(const tort_report_verdict *verdict) {
    return verdict->precision || (verdict->code >= TORT_NO_CAPABILITY && !verdict->fusion && !verdict->segment);
}

/* True if a verdict is shown. YES is not; nor is a refused fusion, which only costs a little speed (--json has it). A
 * provider that is down is shown in a line of its own, and here only if nothing else refused an unplaced node. */
static bool counts(const tort_report_node *node, const tort_report_verdict *verdict, cli_detail detail) {
    if (verdict->precision) return true;
    if (verdict->fusion || verdict->code == TORT_YES) return false;
    if (cli_is_down(verdict)) return !node->provider && only_down(node);
    const bool serves = node->provider && !strcmp(verdict->provider, node->provider);
    return detail == CLI_ALL || !serves || is_better_kernel(verdict);
}

bool cli_is_loss(const tort_report_node *node) {
    bool loss = !node->provider || cli_refusal_elsewhere(node);
    for (int32_t i = 0; i < node->verdict_count; i++) loss = loss || is_better_kernel(node->verdicts[i]);
    return loss;
}

/* Source of a verdict: the kernel if its provider serves the node, otherwise the provider. */
static const char *speaker(const tort_report_node *node, const tort_report_verdict *verdict) {
    if (verdict->precision) return "in float32";
    return node->provider && !strcmp(verdict->provider, node->provider) ? verdict->kernel : verdict->provider;
}

/* True if two providers or kernels give the same refusal, as for an operator that no build has: it is shown once. */
static bool says_the_same(const tort_report_node *node, int32_t i, int32_t k) {
    const tort_report_verdict *a = node->verdicts[i], *b = node->verdicts[k];
    return counts(node, b, CLI_ALL) && a->code == b->code && !strcmp(a->message, b->message) &&
           !strcmp(a->cure, b->cure) && strcmp(speaker(node, a), speaker(node, b)) != 0;
}

char *cli_reason_text(const tort_report_node *node, cli_detail detail, bool with_cures) {
    char *text = cli_copy_text("", 0), bytes[32];
    for (int32_t i = 0; i < node->verdict_count; i++) {
        const tort_report_verdict *verdict = node->verdicts[i];
        if (!counts(node, verdict, detail)) continue;
        cli_append(&text, "%s%s", *text ? "; " : "", speaker(node, verdict));
        if (cli_is_down(verdict)) {
            cli_append(&text, " did not open");
            continue;
        }
        for (; i + 1 < node->verdict_count && says_the_same(node, i, i + 1); i++)
            cli_append(&text, ", %s", speaker(node, node->verdicts[i + 1]));
        cli_append(&text, ": %s%s%s", tort_verdict_name(verdict->code), *verdict->message ? " " : "", verdict->message);
        if (verdict->precision && verdict->bytes >= 0 && !with_cures)
            cli_append(&text, ", %s more", cli_bytes_text((double)verdict->bytes, bytes, sizeof bytes));
        if (with_cures && *verdict->cure) cli_append(&text, " -> %s", verdict->cure);
    }
    return text;
}

char *cli_group_text(const cli_reason *reason, cli_detail detail) {
    char *text = cli_reason_text(reason->examples[0], detail, true);
    if (reason->varies) cli_append(&text, " (numbers differ)");
    if (reason->behind)
        cli_append(&text, "; + %d node%s behind %s", reason->behind, reason->behind == 1 ? "" : "s",
                   reason->nodes == 1 ? reason->examples[0]->path : "them");
    return text;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static const char *behind_number(const char *text) {
    while (tort_is_digit(*text)) text++;
    return text;
}

static uint64_t add_to_hash(const uint64_t *key, uint64_t hash, const char *text) {
    return tort_hash_word(key, hash ^ (text ? tort_hash(key, text, strlen(text)) : 0));
}

static uint64_t add_to_hash_without_numbers(const uint64_t *key, uint64_t hash, const char *text) {
    for (; *text; text++)
        if (!tort_is_digit(*text)) hash = tort_hash_word(key, hash ^ (unsigned char)*text);
    return hash;
}

static uint64_t hash_of(const uint64_t *key, const tort_report_node *node) {
    uint64_t hash = add_to_hash(key, add_to_hash(key, add_to_hash(key, 0, node->domain), node->op), node->provider);
    for (int32_t i = 0; i < node->verdict_count; i++) {
        const tort_report_verdict *verdict = node->verdicts[i];
        hash = add_to_hash(key, add_to_hash(key, hash, verdict->provider), verdict->kernel);
        hash = add_to_hash_without_numbers(key, hash, verdict->message);
    }
    return hash;
}

bool cli_same_text(const char *a, const char *b) {
    return a == b || (a && b && !strcmp(a, b));
}

/* True if the texts are equal apart from their numbers; sets *varies if numbers differ. */
static bool alike_text(const char *a, const char *b, bool *varies) {
    if (a == b) return true;
    for (; a && b; a++, b++) {
        if (tort_is_digit(*a) && tort_is_digit(*b)) {
            const char *p = behind_number(a), *q = behind_number(b);
            *varies = *varies || p - a != q - b || memcmp(a, b, (size_t)(p - a)) != 0;
            a = p;
            b = q;
        }
        if (*a != *b) return false;
        if (!*a) return true;
    }
    return false;
}

static bool alike(const tort_report_node *a, const tort_report_node *b, bool *varies) {
    bool same = a->verdict_count == b->verdict_count && cli_same_text(a->provider, b->provider) &&
                !strcmp(a->domain, b->domain) && !strcmp(a->op, b->op);
    for (int32_t i = 0; same && i < a->verdict_count; i++) {
        const tort_report_verdict *x = a->verdicts[i], *y = b->verdicts[i];
        same = x->code == y->code && !x->fusion == !y->fusion && cli_same_text(x->provider, y->provider) &&
               cli_same_text(x->kernel, y->kernel) && alike_text(x->message, y->message, varies) &&
               alike_text(x->cure, y->cure, varies);
    }
    return same;
}

bool cli_has_reason(const tort_report_node *node, cli_detail detail) {
    if (!node->provider) return cli_root_of(node) < 0 && !only_down(node);
    for (int32_t i = 0; i < node->verdict_count; i++)
        if (counts(node, node->verdicts[i], detail)) return true;
    return false;
}

static int rank(const tort_report_node *node) {
    return !node->provider ? 0 : node->fell_back ? 1 : node->pinned ? 2 : 3;
}

static int by_rank(const void *a, const void *b) {
    const cli_reason *x = a, *y = b;
    int left = rank(x->examples[0]), right = rank(y->examples[0]);
    if (left != right) return left - right;
    if (x->nodes != y->nodes) return x->nodes < y->nodes ? 1 : -1;
    return x->examples[0]->index - y->examples[0]->index;
}

/* Open addressing: indices into the list of reasons, -1: free; at least twice as many slots as there are nodes. */
typedef struct reason_table {
    tort_env env; /* for its key */
    int32_t *slots;
    size_t mask;
} reason_table;

/* Finds or adds the group of a node. */
static cli_reason *reason_of(cli_reasons *reasons, const reason_table *table, const tort_report_node *node) {
    size_t at = (size_t)hash_of(table->env.hash_key, node) & table->mask;
    bool varies = false;
    while (table->slots[at] >= 0 && !alike(reasons->list[table->slots[at]].examples[0], node, &varies)) {
        at = (at + 1) & table->mask;
        varies = false;
    }
    if (table->slots[at] < 0) table->slots[at] = reasons->count++;
    cli_reason *reason = &reasons->list[table->slots[at]];
    reason->varies |= varies;
    return reason;
}

cli_reasons cli_reasons_of(const tort_report *report, cli_detail detail) {
    cli_reasons reasons = {cli_alloc((size_t)report->node_count, sizeof *reasons.list), 0};
    int32_t *behind = cli_behind(report);
    size_t size = 2;
    while (size < 2 * (size_t)report->node_count) size *= 2;
    reason_table table = {.slots = cli_alloc(size, sizeof *table.slots), .mask = size - 1};
    memset(table.slots, -1, size * sizeof *table.slots);
    tort_env_choose_key(&table.env);
    for (int32_t i = 0; i < report->node_count; i++) {
        const tort_report_node *node = report->nodes[i];
        if (!cli_has_reason(node, detail)) continue;
        cli_reason *reason = reason_of(&reasons, &table, node);
        if (reason->nodes < CLI_EXAMPLES) reason->examples[reason->nodes] = node;
        reason->nodes++;
        reason->behind += behind[i];
    }
    free(table.slots);
    free(behind);
    qsort(reasons.list, (size_t)reasons.count, sizeof *reasons.list, by_rank);
    return reasons;
}

void cli_reasons_free(cli_reasons *reasons) {
    free(reasons->list);
    *reasons = (cli_reasons){0};
}

bool cli_is_for_firmware(const tort_report *report) {
    return report->provider_count && !strcmp(report->providers[0]->name, "firmware");
}
