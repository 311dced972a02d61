/* observed_tell.c - prints what a run showed of its inside: --expect, --stats, --dump (observed.h). */
#include <math.h>
#include <stdlib.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/observed.h"
#include "runtime/cli/reasons.h"
#include "runtime/cli/table.h"

/* ---- the node of a value ----------------------------------------------------------------------------------------- */

static const tort_report_node *node_of(const tort_report *report, const cli_seen *seen) {
    const int32_t place = seen->node < 0 ? -1 : cli_place_of(report, seen->node);
    return place < 0 ? NULL : report->nodes[place];
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static void number_cell(cli_table *table, const cli_seen *seen, double number) {
    cli_cell_if(table, seen->statistics.numeric && isfinite(number), CLI_PLAIN, "%.5g", number);
}

static void count_cell(cli_table *table, cli_colour colour, int64_t count) {
    cli_cell_if(table, count, colour, "%lld", (long long)count);
}

static void range_cells(cli_table *table, const cli_seen *seen) {
    char shape[200];
    const cli_statistics *s = &seen->statistics;
    cli_cell(table, CLI_PLAIN, "%s", tort_type_name(seen->type));
    cli_cell(table, CLI_PLAIN, "%s", cli_shape_text(seen->rank, seen->dims, NULL, shape, sizeof shape));
    number_cell(table, seen, s->minimum);
    number_cell(table, seen, s->maximum);
    number_cell(table, seen, s->mean);
    count_cell(table, CLI_RED, s->nan);
    count_cell(table, CLI_RED, s->infinite);
    count_cell(table, CLI_DIM, s->zeros);
}

static void node_cells(cli_table *table, const tort_report *report, const cli_seen *seen) {
    const tort_report_node *node = node_of(report, seen);
    cli_cell_if(table, node, CLI_DIM, "%d", seen->node);
    cli_cell(table, CLI_PLAIN, "%s", node ? node->path : "(weight)");
    cli_cell(table, CLI_PLAIN, "%s", node ? node->op : "");
    cli_cell(table, CLI_BOLD, "%s", seen->name);
}

static void print_stats(const cli_observed *o, const tort_report *report, int width) {
    cli_table *table = cli_table_new("#>|node~|op~?|value~|type|shape|min>|max>|mean>?|nan>|inf>|zeros>?", 0);
    for (int32_t i = 0; i < o->count; i++) {
        node_cells(table, report, &o->seen[i]);
        range_cells(table, &o->seen[i]);
    }
    cli_print(stdout, "\n");
    cli_table_print(table, stdout, width);
}

/* ---- --expect finite ----------------------------------------------------------------------------------------------
 */

static int32_t count_bad(const cli_observed *o) {
    int32_t count = 0;
    for (int32_t i = 0; i < o->count; i++)
        count += o->seen[i].node >= 0 && o->seen[i].statistics.nan + o->seen[i].statistics.infinite > 0;
    return count;
}

/* "node #3 div (Div-14, cpu div_vectors) makes 2 NaN and 1 infinity in 'y'" */
static char *first_text(const cli_first *first, const tort_report *report) {
    const tort_report_node *node = node_of(report, &first->value);
    const cli_statistics *s = &first->value.statistics;
    char *text = cli_format("node #%d %s (%s-%d, %s %s) makes", first->value.node, node ? node->path : "?",
                            node ? node->op : "?", node ? node->since : 0,
                            node && node->provider ? node->provider : "?", node ? node->kernel : "");
    if (s->nan) cli_append(&text, " %lld NaN", (long long)s->nan);
    if (s->infinite)
        cli_append(&text, "%s %lld infinit%s", s->nan ? " and" : "", (long long)s->infinite,
                   s->infinite == 1 ? "y" : "ies");
    cli_append(&text, " of %lld element%s in '%s'", (long long)s->count, s->count == 1 ? "" : "s", first->value.name);
    return text;
}

static void print_first(const cli_first *first, const char *what, const tort_report *report, int width) {
    char *text = first_text(first, report);
    cli_table *table = cli_table_new("its inputs~|type|shape|min>|max>|mean>?|nan>|inf>|zeros>?", 2);
    cli_print(stdout, "\n%s: %s\n", what, text);
    for (int32_t i = 0; i < first->input_count; i++) {
        cli_cell(table, CLI_BOLD, "%s", first->inputs[i].name);
        range_cells(table, &first->inputs[i]);
    }
    cli_table_print(table, stdout, width);
    free(text);
}

static void print_finite(const cli_observed *o, const tort_report *report, int width) {
    if (!o->first.value.name) {
        int32_t made = 0;
        for (int32_t i = 0; i < o->count; i++) made += o->seen[i].node >= 0;
        cli_print(stdout, "\nfinite: all elements of the %d value%s that the nodes make\n", made, made == 1 ? "" : "s");
        return;
    }
    print_first(&o->first, "the first that is not finite", report, width);
    if (o->first_nan.value.name && o->first_nan.value.node != o->first.value.node)
        print_first(&o->first_nan, "the first NaN", report, width);
    const int32_t later = count_bad(o) - 1;
    if (later) cli_print(stdout, "and %d more value%s\n", later, later == 1 ? "" : "s");
}

/* ---- --expect fp16 ------------------------------------------------------------------------------------------------
 */

enum { MAX_LISTED = 20 };

static int64_t count_of(const cli_observed *o, bool overflows) {
    int64_t count = 0;
    for (int32_t i = 0; i < o->count; i++) {
        const cli_statistics *s = &o->seen[i].statistics;
        count += (overflows ? s->overflows : s->vanishes) > 0;
    }
    return count;
}

static void print_fp16(const cli_observed *o, const tort_report *report, int width) {
    cli_table *table = cli_table_new("#>|node~|op~?|value~|min>|max>|overflow>|vanish>", 0);
    int32_t listed = 0, all = 0;
    for (int32_t pass = 0; pass < 2; pass++) /* overflows first */
        for (int32_t i = 0; i < o->count; i++) {
            const cli_statistics *s = &o->seen[i].statistics;
            if (pass == 0 ? !s->overflows : s->overflows || !s->vanishes) continue;
            if (++all > MAX_LISTED) continue;
            listed++;
            node_cells(table, report, &o->seen[i]);
            number_cell(table, &o->seen[i], s->minimum);
            number_cell(table, &o->seen[i], s->maximum);
            count_cell(table, CLI_RED, s->overflows);
            count_cell(table, CLI_YELLOW, s->vanishes);
        }
    cli_print(stdout, "\n");
    cli_table_print(table, stdout, width);
    if (all > listed) cli_print(stdout, "... and %d more (--stats --json has all)\n", all - listed);
    cli_print_line(stdout,
                   "float16: of %d values %lld would overflow (above 65504), %lld lose elements to 0 (below 2^-25)\n",
                   o->count, (long long)count_of(o, true), (long long)count_of(o, false));
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void real_json(cJSON *item, const char *key, double number) {
    if (isfinite(number))
        cJSON_AddNumberToObject(item, key, number);
    else
        cJSON_AddNullToObject(item, key);
}

static cJSON *seen_json(const cli_seen *seen, const tort_report *report) {
    const tort_report_node *node = node_of(report, seen);
    const cli_statistics *s = &seen->statistics;
    cJSON *item = cJSON_CreateObject();
    cli_json_text(item, "value", seen->name);
    cli_json_number(item, "node", seen->node);
    cli_json_text(item, "path", node ? node->path : NULL);
    cli_json_text(item, "op", node ? node->op : NULL);
    cli_json_text(item, "provider", node ? node->provider : NULL);
    cli_json_text(item, "kernel", node ? node->kernel : NULL);
    cli_json_text(item, "type", tort_type_name(seen->type));
    cJSON *shape = cJSON_AddArrayToObject(item, "shape");
    for (int32_t i = 0; i < seen->rank; i++) cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)seen->dims[i]));
    cli_json_number(item, "times", seen->times);
    cli_json_number(item, "count", s->count);
    real_json(item, "min", s->numeric ? s->minimum : (double)NAN);
    real_json(item, "max", s->numeric ? s->maximum : (double)NAN);
    real_json(item, "mean", s->numeric ? s->mean : (double)NAN);
    cli_json_number(item, "nan", s->nan);
    cli_json_number(item, "infinite", s->infinite);
    cli_json_number(item, "zeros", s->zeros);
    cli_json_number(item, "overflows", s->overflows);
    cli_json_number(item, "vanishes", s->vanishes);
    return item;
}

static cJSON *first_json(const cli_first *first, const tort_report *report) {
    if (!first->value.name) return cJSON_CreateNull();
    cJSON *item = seen_json(&first->value, report), *inputs = cJSON_AddArrayToObject(item, "inputs");
    for (int32_t i = 0; i < first->input_count; i++) cJSON_AddItemToArray(inputs, seen_json(&first->inputs[i], report));
    return item;
}

static void fill_json(const cli_observed *o, const tort_report *report, cJSON *json) {
    const cli_options *options = o->options;
    if (options->expect) {
        cJSON *check = cJSON_AddObjectToObject(json, "check");
        static const char *const words[] = {[CLI_FINITE] = "finite", [CLI_FP16] = "fp16", "finite and fp16"};
        cli_json_text(check, "what", words[options->expect]);
        cli_json_number(check, "values", o->count);
        cli_json_number(check, "not_finite", count_bad(o));
        cli_json_number(check, "overflow", count_of(o, true));
        cli_json_number(check, "vanish", count_of(o, false));
        cJSON_AddItemToObject(check, "first", first_json(&o->first, report));
        cJSON_AddItemToObject(check, "first_nan", first_json(&o->first_nan, report));
    }
    if (options->stats) {
        cJSON *list = cJSON_AddArrayToObject(json, "values");
        for (int32_t i = 0; i < o->count; i++) cJSON_AddItemToArray(list, seen_json(&o->seen[i], report));
    }
    if (options->dumps.count) cli_json_number(json, "dumped", o->written);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static void print_text(const cli_observed *o, const tort_report *report) {
    const int width = cli_width(stdout, o->options->width);
    if (o->options->stats) print_stats(o, report, width);
    if (o->options->expect & CLI_FINITE) print_finite(o, report, width);
    if (o->options->expect & CLI_FP16) print_fp16(o, report, width);
    if (o->options->dumps.count)
        cli_print(stdout, "\n%d value%s written (index.tsv lists them)\n", o->written, o->written == 1 ? "" : "s");
}

/* Decides whether what --expect found is a failure. */
static tort_status judge(const cli_observed *o, const tort_report *report, tort_error *error) {
    const int32_t check = o->options->expect;
    if (check & CLI_FINITE && o->first.value.name) {
        char *text = first_text(&o->first, report);
        tort_fail(error, TORT_E_RUN, "%s", text);
        free(text);
        return TORT_E_RUN;
    }
    const int64_t overflow = check & CLI_FP16 ? count_of(o, true) : 0;
    if (!overflow) return TORT_OK;
    return tort_fail(error, TORT_E_RUN, "%lld value%s would overflow in float16", (long long)overflow,
                     overflow == 1 ? "" : "s");
}

tort_status cli_observed_tell(cli_observed *o, const tort_report *report, cJSON *json, tort_error *error) {
    const tort_status status = cli_observed_end(o, error);
    if (json)
        fill_json(o, report, json);
    else
        print_text(o, report);
    return status ? status : judge(o, report, error);
}
