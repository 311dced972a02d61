/* plot.h - draws what a sweep has measured as an SVG file, which needs no other file and is light or dark as the page
 * around it. */
#ifndef TORT_CLI_PLOT_H
#define TORT_CLI_PLOT_H

#include "runtime/include/tinyort.h"

typedef struct cli_plot_point {
    int32_t value;                 /* of what is swept */
    double low, median, high, p99; /* milliseconds: the 10th, 50th, 90th and 99th percentile */
    double rate;                   /* runs a second: of one context that of the median */
    double done; /* in a second: runs or, where the size of a dimension is swept, that many times the runs */
} cli_plot_point;

typedef struct cli_plot_series {
    const char *name; /* borrowed */
    cli_plot_point *points;
    int32_t count;
} cli_plot_series;

/* Borrows all of it. */
typedef struct cli_plot {
    const char *title, *name, *done; /* name: of what is swept; done: what the points did in a second */
    const cli_plot_series *series;
    int32_t count;
} cli_plot;

tort_status cli_plot_write(const char *path, const cli_plot *plot, tort_error *error);

#endif
