/* planes.h - a layout of an image's channels in which every kernel position is one offset: padded, and split by the
 * strides.
 *
 * With strides s and t along height and width, a channel is stored as s * t smaller planes, each of every s-th row
 * and every t-th column, so that neighbouring outputs read neighbours at each kernel position: output (d, h, x)
 * reads kernel position j at slice(d) + h * pitch + x + offset(j). Read next: planes.c, simd/planes.c. */
#ifndef TORT_KERNELS_CPU_PLANES_H
#define TORT_KERNELS_CPU_PLANES_H

#include "kernels/cpu/cpu.h"
#include "ops/sliding.h"

#define TORT_PLANE_TAIL 32 /* floats behind the last plane that may be read: two of the widest vectors */

/* Axes are depth, height, width; missing leading axes have the size 1. */
typedef struct tort_planes {
    int64_t input[3], output[3], kernel[3], dilations[3], begin[3];
    int64_t phases[3];      /* planes along height and width; depth has one */
    int64_t source_step[3]; /* element i of phase p is input element (i * phases + p) * source_step - begin */
    int64_t length[3];      /* slices, rows, columns of a phase; the pitch of a row is length[2] */
    int64_t slice_step;     /* slices from one output slice to the next */
    int64_t slice, plane;   /* stored elements of a slice (all phases), and of a channel */
    bool direct;            /* the input is used as it is, nothing is stored */
    int64_t outputs;        /* per channel */
    int64_t kernel_size;
} tort_planes;

/* Sets the layout for a window of at most 3 axes whose sizes are all known. */
void tort_planes_init(tort_planes *planes, const tort_sliding *window);
/* Sets the offset of each kernel position of each channel, kernel_size a channel. */
void tort_planes_offsets(const tort_planes *planes, int64_t channels, int64_t *offsets);

/* Part of a row of a phase that lies within the input: element i in from .. to is input element i * step + start. */
typedef struct tort_plane_columns {
    int64_t from, to, step, start;
} tort_plane_columns;

tort_plane_columns tort_plane_columns_of(const tort_planes *planes, int64_t phase);
/* Returns the input index of element i along an axis, counting the phases in turns; -1: padding. */
int64_t tort_plane_source(const tort_planes *planes, int axis, int64_t i);
/* Returns the offset at which the outputs of row `row` (depth * height + height) begin to read. */
int64_t tort_planes_row(const tort_planes *planes, int64_t row);
/* Sets the runs along stored rows that outputs first .. +columns of a channel read, at most TORT_MAX_COLUMNS of both;
 * returns their number. */
int32_t tort_planes_runs(const tort_planes *planes, int64_t first, int32_t columns, tort_run *runs);

/* Brings an input channel into the stored form; padding gets `fill`. */
void tort_planes_store(const tort_call *call, const tort_planes *planes, const float *channel, float fill,
                       float *stored);

/* ---- filters and pools of single channels ---- */

/* Makes rows of outputs. arg is the caller's. */
typedef void (*tort_planes_body)(const void *arg, int64_t channel, const tort_window_rows *rows);
/* Completes `count` outputs in their final place. */
typedef void (*tort_planes_finish)(const void *arg, float *out, int64_t count);

/* Computes the scratch of kernels that go channel by channel: the offsets, then a buffer per thread. */
tort_status tort_planes_size(const tort_target *target, const tort_sliding *window, size_t *scratch, tort_error *error);
/* Returns the floats of a channel's buffer. */
int64_t tort_planes_buffer(const tort_planes *planes);
/* Returns the rows of a window for tort_weighted.shared. */
int64_t tort_planes_shared(const tort_planes *planes);
/* Calls body for all outputs of a channel that is stored in buffer, some rows at a time. After each call, finish (NULL:
 * nothing) gets the new outputs while they are in the cache. */
void tort_planes_each(const tort_call *call, const tort_planes *planes, tort_planes_body body,
                      tort_planes_finish finish, const void *arg, int64_t channel, const float *buffer, float *out);

#endif
