/* profile_tables.c - a profile as tables: the most expensive units, all units by operator, and the sum (profile.h). */
#include <math.h>
#include <stdlib.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/profile.h"
#include "runtime/cli/table.h"

enum { SHOWN_UNITS = 20 };

/* ---- cells ------------------------------------------------------------------------------------------------------- */

static void number_cell(cli_table *table, double number, const char *unit) {
    if (number <= 0)
        cli_cell(table, CLI_DIM, "-");
    else
        cli_cell(table, CLI_PLAIN, number < 10 ? "%.2f%s" : number < 100 ? "%.1f%s" : "%.0f%s", number, unit);
}

static void percent_cell(cli_table *table, double percent) {
    if (percent <= 0)
        cli_cell(table, CLI_DIM, "-");
    else
        cli_cell(table, CLI_PLAIN, percent < 9.95 ? "%.1f %%" : "%.0f %%", percent);
}

/* Milliseconds per run, and their share of it. */
static void time_cells(cli_table *table, const cli_profile *profile, double seconds) {
    const double milliseconds = 1e3 * seconds / profile->counted;
    cli_cell(table, CLI_BOLD, milliseconds < 0.01 ? "%.4f" : "%.3f", milliseconds);
    cli_cell(table, CLI_PLAIN, "%.1f %%", cli_profile_share(profile, seconds));
}

static void speed_cells(cli_table *table, const cli_profile *profile, const cli_cost *cost) {
    const cli_speed speed = cli_profile_speed(profile, cost);
    number_cell(table, 1e-9 * speed.flops, "");
    percent_cell(table, speed.flops_percent);
    number_cell(table, 1e-9 * speed.bytes, "");
    percent_cell(table, speed.bytes_percent);
}

/* ---- units ------------------------------------------------------------------------------------------------------- */

/* Number of providers with nodes: if there is only one, units need not name it. */
static int32_t providers_with_nodes(const tort_report *report) {
    int32_t count = 0;
    for (int32_t i = 0; i < report->provider_count; i++) count += report->providers[i]->nodes > 0;
    return count;
}

static void unit_row(cli_table *table, const cli_profile *profile, const cli_profile_unit *unit, bool several) {
    const bool moves = unit->what == TORT_PROFILED_COPY || unit->what == TORT_PROFILED_CONVERSION;
    const char *before = moves && unit->node >= 0 ? "before " : "";
    if (unit->node < 0)
        cli_cell(table, CLI_DIM, "-");
    else
        cli_cell(table, CLI_DIM, "%d", unit->node);
    cli_cell(table, CLI_PLAIN, "%s%s", before, unit->path);
    cli_cell(table, CLI_PLAIN, "%s", unit->op);
    cli_cell(table, CLI_PLAIN, "%s", several ? unit->provider : "");
    cli_cell(table, CLI_DIM, "%s", unit->kernel);
    cli_cell_if(table, unit->cost.calls != profile->counted, CLI_PLAIN, "%.6g",
                (double)unit->cost.calls / profile->counted);
    time_cells(table, profile, unit->cost.seconds);
    speed_cells(table, profile, &unit->cost);
}

/* Prints the sum of the units that the table leaves out. */
static void print_rest(const cli_profile *profile, const cli_profile_unit **order, int32_t shown) {
    double seconds = 0;
    for (int32_t i = shown; i < profile->unit_count; i++) seconds += order[i]->cost.seconds;
    if (shown < profile->unit_count)
        cli_print(stdout, "%d more: %.3f ms, %.1f %% (--profile=all lists them)\n", profile->unit_count - shown,
                  1e3 * seconds / profile->counted, cli_profile_share(profile, seconds));
}

static void print_units(const cli_profile *profile, bool all, int width) {
    const cli_profile_unit **order = cli_profile_order(profile);
    cli_table *table = cli_table_new("#>|node~|op~|runs on|kernel~?|times>|ms>|share>|GFLOP/s>|peak>|GB/s>?|peak>?", 0);
    const bool several = providers_with_nodes(profile->report) > 1;
    const int32_t shown = all || profile->unit_count < SHOWN_UNITS ? profile->unit_count : SHOWN_UNITS;
    for (int32_t i = 0; i < shown; i++) unit_row(table, profile, order[i], several);
    cli_table_print(table, stdout, width);
    print_rest(profile, order, shown);
    free(order);
}

/* ---- operators, and all of it ------------------------------------------------------------------------------------ */

static void print_operators(const cli_profile *profile, int width) {
    int32_t count;
    cli_profile_operator *operators = cli_profile_operators(profile, &count);
    const cli_cost total = cli_profile_total(profile);
    cli_table *table = cli_table_new("op~|units>|ms>|share>|GFLOP/s>|peak>|GB/s>?|peak>?", 0);
    for (int32_t i = 0; i < count; i++) {
        cli_cell(table, CLI_PLAIN, "%s", operators[i].op);
        cli_cell(table, CLI_PLAIN, "%d", operators[i].units);
        time_cells(table, profile, operators[i].cost.seconds);
        speed_cells(table, profile, &operators[i].cost);
    }
    cli_cell(table, CLI_DIM, "between units");
    cli_cell(table, CLI_PLAIN, "%s", "");
    time_cells(table, profile, profile->seconds - total.seconds);
    cli_table_print(table, stdout, width);
    free(operators);
}

static void print_peaks(const cli_profile *profile) {
    const tort_report *report = profile->report;
    for (int32_t i = 0; i < report->provider_count; i++) {
        const tort_report_provider *provider = report->providers[i];
        const tort_peak *peak = &profile->peaks[i];
        if (!provider->nodes) continue;
        cli_print(stdout, "  peak of %s: ", provider->name);
        if (peak->flops <= 0 && peak->bytes <= 0) {
            cli_print(stdout, "not known\n");
            continue;
        }
        cli_print(stdout, "%.0f GFLOP/s (float32), %.1f GB/s (memory)", 1e-9 * peak->flops, 1e-9 * peak->bytes);
        if (provider->threads)
            cli_print(stdout, ", on %d thread%s", provider->threads, provider->threads == 1 ? "" : "s");
        cli_print(stdout, "\n");
    }
}

/* The meaning of a rate above the peak, which a reader would take for a wrong figure. */
static void explain_excess(const cli_profile *profile) {
    double max = 0;
    for (int32_t i = 0; i < profile->unit_count; i++) {
        const cli_speed speed = cli_profile_speed(profile, &profile->units[i].cost);
        max = fmax(max, fmax(speed.flops_percent, speed.bytes_percent));
    }
    if (max > 100.5)
        cli_print_line(stdout,
                       "above 100 %% of the peak: values in a cache, 8-bit units, fewer multiplications than the "
                       "definition has, or a machine that was busy while its peak was measured\n");
}

static void print_total(const cli_profile *profile) {
    char flops[32], bytes[32];
    cli_cost total = cli_profile_total(profile);
    total.seconds = profile->seconds;
    const cli_speed speed = cli_profile_speed(profile, &total);
    cli_print(stdout, "a run: %.3f ms, %s read and written, %s FLOPs", 1e3 * profile->seconds / profile->counted,
              cli_bytes_text(total.bytes, bytes, sizeof bytes), cli_count_text(total.flops, flops, sizeof flops));
    if (speed.flops > 0) cli_print(stdout, " at %.1f GFLOP/s", 1e-9 * speed.flops);
    if (speed.flops_percent > 0) cli_print(stdout, ", %.0f %% of peak", speed.flops_percent);
    cli_print(stdout, "\n");
}

void cli_profile_print(const cli_profile *profile, bool all, int width) {
    cli_print_line(stdout, "  profile: the faster half of %d more run%s, which took %.3f of the time of these\n",
                   profile->run_count, profile->run_count == 1 ? "" : "s", profile->overhead);
    print_peaks(profile);
    cli_print(stdout, "\n");
    print_units(profile, all, width);
    cli_print(stdout, "\n");
    print_operators(profile, width);
    cli_print(stdout, "\n");
    print_total(profile);
    explain_excess(profile);
}
