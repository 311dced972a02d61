/* heads_run.h - state of a run, shared by heads.c and heads_rows.c. */
#ifndef TORT_OPS_MICROSOFT_HEADS_RUN_H
#define TORT_OPS_MICROSOFT_HEADS_RUN_H

#include "ops/microsoft/heads.h"

/* Rows of floats: row (batch, head, position) is at the sum of its strides. */
typedef struct heads_plane {
    const float *rows;
    tort_head_strides strides;
} heads_plane;

/* Keys of a batch entry. */
typedef struct heads_span {
    int64_t past, total; /* keys taken from the past; all keys */
    int64_t before;      /* position of the first query */
} heads_span;

typedef struct heads_job {
    const tort_call *call;
    const tort_heads_params *p;
    const tort_heads_loops *loops;
    tort_tensor projected;
    heads_plane query, key, value;
    float *laid_out[3]; /* queries, keys and values in scratch; NULL: they are elsewhere */
    heads_span *spans;  /* by batch entry, in scratch, where nobody changes what was checked */
    char *parts;
    size_t part_bytes;
    int64_t longest, past_count, beams; /* keys of the longest batch entry; past keys of every entry; beams */
    bool first;                         /* first run of a sequence: the past is ignored */
} heads_job;

int64_t tort_heads_capacity(const tort_heads_params *params);  /* maximum number of keys of a batch entry */
size_t tort_heads_span_bytes(const tort_heads_params *params); /* of scratch that spans take, a multiple of 64 */
bool tort_heads_part_bytes(const tort_heads_params *params, const tort_heads_loops *loops, size_t *bytes);
tort_heads_loops tort_heads_plain_loops(const tort_heads_params *params);

/* Reads and checks the numbers that inputs hold, and finds the memory of rows. */
tort_status tort_heads_begin(heads_job *job, const float *projected, void *scratch);
/* Lays out rows, parts begin .. end-1; arg is a heads_job. */
void tort_heads_lay_out(void *arg, int64_t begin, int64_t end);

#endif
