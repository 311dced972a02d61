/* plot.c - draws a sweep (plot.h): latency on the left, with a bar from the 10th to the 90th percentile at each median,
 * and what is done in a second on the right. Both axes begin at 0, but the values that are swept are drawn in powers of
 * two where they span more than three. */
#include "runtime/cli/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/files/new_file.h"
#include "runtime/cli/files/whole_file.h"
#include "runtime/cli/text.h"
#include "runtime/core/base/locale.h"

enum { PANEL = 440, LEFT = 64, TOP = 64, WIDTH = 340, HEIGHT = 240, COLOURS = 6, LINE = 20 };

/* Colours that differ for the colour-blind, too (Okabe and Ito, "Color Universal Design", 2008). */
static const char *const colours[COLOURS] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"};

typedef struct panel {
    int32_t x;             /* of its left edge */
    double low, high, top; /* range of the values; largest of what is drawn */
    bool powers;
} panel;

static void put_text(char **out, double x, double y, const char *kind, const char *text) {
    char *safe = cli_escape(text, strlen(text)), *in_xml = cli_replace(safe, cli_in_xml);
    cli_append(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">%s</text>\n", x, y, kind, in_xml);
    free(in_xml);
    free(safe);
}

/* ---- scales ------------------------------------------------------------------------------------------------------ */

static double across(const panel *p, double value) {
    const double low = p->powers ? log2(p->low) : p->low, high = p->powers ? log2(p->high) : p->high;
    const double at = p->powers ? log2(value) : value;
    return p->x + LEFT + WIDTH * (high > low ? (at - low) / (high - low) : 0.5);
}

static double down(const panel *p, double value) {
    return TOP + HEIGHT * (1 - value / p->top);
}

/* The smallest of 1, 2, 5, 10, 20 ... of which at most five reach the top. */
static double step_to(double top) {
    double step = pow(10, floor(log10(top)) - 1);
    for (int i = 0; top / step > 5; i++) step *= i % 3 == 1 ? 2.5 : 2;
    return step;
}

static panel open_panel(const cli_plot *plot, bool latency) {
    panel p = {.x = latency ? 0 : PANEL, .low = HUGE_VAL, .high = 1};
    for (int32_t s = 0; s < plot->count; s++)
        for (int32_t i = 0; i < plot->series[s].count; i++) {
            const cli_plot_point *point = &plot->series[s].points[i];
            p.low = fmin(p.low, point->value);
            p.high = fmax(p.high, point->value);
            /* Bars are cut off above twice the medians, or other work on the machine would set the scale. */
            p.top = fmax(p.top, latency ? fmin(point->high, 2 * point->median) : point->done);
        }
    p.powers = p.high > 3 * p.low;
    p.top = p.top > 0 ? p.top : 1;
    const double step = step_to(p.top);
    p.top = step * ceil(p.top / step);
    return p;
}

/* ---- drawing ----------------------------------------------------------------------------------------------------- */

/* The axes, with a number at each step, and at each value that has room. */
static void draw_axes(char **out, const cli_plot *plot, const panel *p, const char *title) {
    char number[32];
    double before = -HUGE_VAL;
    put_text(out, p->x + LEFT, TOP - 12, "head", title);
    for (double at = 0; at <= p->top * 1.001; at += step_to(p->top)) {
        cli_append(out, "<path d=\"M%d %.1fh%d\" class=\"grid\"/>\n", p->x + LEFT, down(p, at), WIDTH);
        tort_snprintf(number, sizeof number, "%.6g", at);
        put_text(out, p->x + LEFT - 8, down(p, at) + 4, "end", number);
    }
    for (int32_t i = 0; i < plot->series[0].count; i++) {
        const double x = across(p, plot->series[0].points[i].value);
        if (fabs(x - before) < 28) continue;
        snprintf(number, sizeof number, "%d", plot->series[0].points[i].value);
        put_text(out, x, TOP + HEIGHT + 18, "middle", number);
        before = x;
    }
    put_text(out, p->x + LEFT + WIDTH / 2.0, TOP + HEIGHT + 38, "middle", plot->name);
}

static void draw_series(char **out, const cli_plot *plot, const panel *p, int32_t number, bool latency) {
    const cli_plot_series *series = &plot->series[number];
    cli_append(out, "<g fill=\"%s\" stroke=\"%s\">\n<path fill=\"none\" d=\"", colours[number % COLOURS],
               colours[number % COLOURS]);
    for (int32_t i = 0; i < series->count; i++) {
        const cli_plot_point *point = &series->points[i];
        cli_append(out, "%s%.1f %.1f", i ? "L" : "M", across(p, point->value),
                   down(p, latency ? point->median : point->done));
    }
    cli_append(out, "\"/>\n");
    for (int32_t i = 0; i < series->count; i++) {
        const cli_plot_point *point = &series->points[i];
        const double x = across(p, point->value), shown = latency ? point->median : point->done;
        cli_append(out, "<circle r=\"3\" cx=\"%.1f\" cy=\"%.1f\"><title>%s %d: %.6g</title></circle>\n", x,
                   down(p, shown), latency ? "ms at" : "a second at", point->value, shown);
        if (latency)
            cli_append(out, "<path class=\"bar\" d=\"M%.1f %.1fV%.1f\"/>\n", x, down(p, point->low),
                       down(p, fmin(point->high, p->top)));
    }
    cli_append(out, "</g>\n");
}

static void draw_legend(char **out, const cli_plot *plot) {
    for (int32_t s = 0; s < plot->count; s++) {
        const double y = TOP + HEIGHT + 66 + LINE * s;
        cli_append(out, "<path d=\"M%d %.1fh24\" stroke=\"%s\"/>\n", LEFT, y - 4, colours[s % COLOURS]);
        put_text(out, LEFT + 32, y, "", plot->series[s].name);
    }
}

tort_status cli_plot_write(const char *path, const cli_plot *plot, tort_error *error) {
    const int height = TOP + HEIGHT + 66 + LINE * plot->count;
    char *out = cli_format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\">\n<style>\n",
                           2 * PANEL, height, 2 * PANEL);
    cli_append(&out,
               "svg{background:#fff;color:#222;font:13px system-ui,sans-serif}\n"
               "@media(prefers-color-scheme:dark){svg{background:#161616;color:#ddd}}\n"
               "text{fill:currentColor}path{stroke-width:2}.grid{stroke:currentColor;stroke-opacity:.15;"
               "stroke-width:1}.bar{stroke-opacity:.4;stroke-width:5}.end{text-anchor:end}"
               ".middle{text-anchor:middle}.title{font-size:16px;font-weight:600}.head{font-weight:600}\n</style>\n");
    put_text(&out, LEFT, 28, "title", plot->title);
    const panel left = open_panel(plot, true), right = open_panel(plot, false);
    draw_axes(&out, plot, &left, "latency in ms: median, bar from p10 to p90");
    draw_axes(&out, plot, &right, plot->done);
    for (int32_t s = 0; s < plot->count; s++) draw_series(&out, plot, &left, s, true);
    for (int32_t s = 0; s < plot->count; s++) draw_series(&out, plot, &right, s, false);
    draw_legend(&out, plot);
    cli_append(&out, "</svg>\n");
    const tort_status status = cli_failed_write(cli_new_file_of(path, out, strlen(out), error), error);
    free(out);
    return status;
}
