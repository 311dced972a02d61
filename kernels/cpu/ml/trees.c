/* trees.c - ensembles of trees in fp32: blocks of rows walk down one tree after another, several rows at a time; a
 * single row walks down several trees.
 *
 * Each row's votes are summed in the order of the trees, as in the plain loop, so results depend neither on the
 * number of threads nor on the rows around it. Read next: trees_pack.h, simd/trees.c. */
#include "kernels/cpu/ml/trees_pack.h"

#include "kernels/cpu/pieces.h"
#include "ops/numeric.h"

#include <math.h>
#include <string.h>

enum {
    LANES = TORT_TREE_LANES,
    MAX_GROUPS = 16,     /* groups of LANES rows in a block, upper limit */
    BLOCK_FLOATS = 8192, /* features of a block: a tree stays in the L1 cache beside them */
    STEP_COST = 2,       /* nanoseconds per row and level of a tree */
    LARGE = 4096,        /* records: a walk down a tree of more may take so many steps */
    WALK_COST = 1024     /* nanoseconds of a walk down a smaller tree */
};

static tort_verdict claim_trees(const tort_target *target, const tort_node_view *node) {
    const tort_trees_params *p = node->params;
    const tort_type type = node->inputs[0].type;
    if (type == TORT_DOUBLE || p->doubles)
        return tort_no(TORT_NO_TYPE, "", "is for float, %s",
                       p->doubles ? "numbers of the trees are double" : "X is double");
    const char *refusal = tort_trees_refusal(tort_model_env(node->model), p);
    if (refusal) return tort_no(TORT_NO_ATTR, "", "%s", refusal);
    return tort_cpu_claim_processor(target);
}

/* Packs the trees into `prepared`, not into weights of a saved plan: bytes from a file cannot prove that a walk
 * ends. */
static tort_status prepare_trees(tort_prepare *prepare) {
    prepare->prepared = tort_trees_pack(prepare->env, prepare->node->params);
    return prepare->prepared ? TORT_OK : tort_out_of_memory(prepare->error, 0);
}

static void release_trees(void *device, const tort_env *env, void *prepared) {
    tort_packed_trees *packed = prepared;
    (void)device;
    if (packed) tort_free(env, packed, packed->bytes);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Returns the groups of LANES rows in a block. */
static int64_t block_groups(const tort_trees_params *p, int64_t rows) {
    const int64_t fit = BLOCK_FLOATS / (LANES * tort_trees_max_columns(p)), all = (rows + LANES - 1) / LANES;
    const int64_t max = fit < MAX_GROUPS ? fit : MAX_GROUPS;
    const int64_t groups = max < all ? max : all;
    return groups < 1 ? 1 : groups;
}

/* Arrays of one part of the work. */
typedef struct tree_buffers {
    float *x;      /* [group, column, lane] */
    float *scores; /* [row, target] */
    uint8_t *voted;
    double *row; /* scores of one row */
} tree_buffers;

static bool reserve_part(const tort_trees_params *p, int64_t groups, size_t *total) {
    const int64_t rows = groups * LANES;
    int64_t scores;
    return !__builtin_mul_overflow(rows, (int64_t)p->targets, &scores) &&
           tort_cpu_reserve_floats(total, rows * tort_trees_max_columns(p)) && tort_cpu_reserve_floats(total, scores) &&
           tort_cpu_reserve(total, (size_t)scores) && tort_cpu_reserve_floats(total, 2 * (int64_t)p->targets);
}

static tree_buffers take_part(const tort_trees_params *p, int64_t groups, char *scratch) {
    const size_t rows = (size_t)(groups * LANES), targets = (size_t)p->targets;
    tree_buffers b;
    b.x = tort_cpu_take(&scratch, rows * (size_t)tort_trees_max_columns(p) * sizeof *b.x);
    b.scores = tort_cpu_take(&scratch, rows * targets * sizeof *b.scores);
    b.voted = tort_cpu_take(&scratch, rows * targets);
    b.row = tort_cpu_take(&scratch, targets * sizeof *b.row);
    return b;
}

static int64_t count_rows(int32_t rank, const int64_t *dims) {
    return rank == 1 ? 1 : dims[0];
}

static tort_status size_trees(const tort_target *target, const tort_node_view *node, size_t *scratch,
                              tort_error *error) {
    const tort_trees_params *p = node->params;
    const tort_info *x = &node->inputs[0];
    size_t part = 0, parts;
    if (reserve_part(p, block_groups(p, count_rows(x->rank, x->dims)), &part) &&
        tort_mul_size(part, (uint64_t)target->threads, &parts) &&
        tort_cpu_reserve(scratch, (size_t)p->names.count * sizeof(tort_string)) &&
        tort_add_size(*scratch, parts, scratch))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

typedef struct tree_job {
    const tort_call *call;
    const tort_trees_params *p;
    const tort_packed_trees *packed;
    const tort_simd *simd;
    const tort_string *names;
    char *parts; /* scratch of the first part */
    size_t part_bytes;
    int64_t rows, features, groups, part_count;
} tree_job;

/* Loads the columns of `count` rows, `lanes` apart; lanes beyond `count` are undefined. */
static void load_rows(const tree_job *job, int64_t first, int64_t count, int64_t lanes, float *x) {
    const tort_packed_trees *packed = job->packed;
    const tort_tensor *input = &job->call->inputs[0];
    for (int64_t i = 0; i < lanes; i++) {
        x[TORT_TREE_ALWAYS * lanes + i] = -INFINITY;
        x[TORT_TREE_NEVER * lanes + i] = NAN;
    }
    for (int64_t i = 0; i < count; i++) {
        const int64_t row = (first + i) * job->features;
        for (int32_t c = TORT_TREE_COLUMNS; c < packed->column_count; c++) {
            const bool negated = packed->columns[c] < 0;
            const int64_t at = row + (negated ? -1 - packed->columns[c] : packed->columns[c]);
            float value;
            if (input->type == TORT_FLOAT)
                value = ((const float *)input->data)[at];
            else
                tort_load_floats(input->type, input->data, at, 1, &value);
            x[c * lanes + i] = negated ? -value : value;
        }
    }
}

/* Adds the vote, or the ballot's votes, of the leaf that a row reached. */
static void add_vote(const tree_job *job, int32_t tree, float leaf, float *scores, uint8_t *voted) {
    const tort_packed_trees *packed = job->packed;
    const int32_t target = packed->targets[tree];
    if (target >= 0) {
        scores[target] += leaf;
        return;
    }
    uint32_t number;
    memcpy(&number, &leaf, sizeof number);
    const tort_tree_ballot ballot = packed->ballots[number];
    const tort_tree_ballot_vote *votes = packed->votes + ballot.first;
    for (int32_t i = 0; i < ballot.count; i++) {
        scores[votes[i].target] += votes[i].weight;
        voted[votes[i].target] = 1;
    }
}

static void start_rows(const tree_job *job, int64_t rows, const tree_buffers *b) {
    const size_t targets = (size_t)job->p->targets;
    memset(b->scores, 0, (size_t)rows * targets * sizeof *b->scores);
    for (int64_t i = 0; i < rows; i++) memcpy(b->voted + (size_t)i * targets, job->packed->voted, targets);
}

static void finish_rows(const tree_job *job, int64_t first, int64_t rows, const tree_buffers *b) {
    const int64_t targets = job->p->targets;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t t = 0; t < targets; t++) b->row[t] = (double)b->scores[i * targets + t];
        tort_trees_finish(job->call, first + i, b->row, b->voted + i * targets, job->names);
    }
}

/* Asked before walk number `walk`, down trees t .. t + count. False: the run has ended. */
static bool walk_goes_on(const tree_job *job, int64_t walk, int32_t t, int32_t count) {
    const tort_packed_trees *packed = job->packed;
    const bool last = t >= packed->tree_count - count;
    if (last || packed->trees[t + count] - packed->trees[t] > LARGE) return tort_call_goes_on(job->call, 0);
    return tort_piece_goes_on(job->call, walk, WALK_COST);
}

static void walk_one_row(const tree_job *job, int64_t row, const tree_buffers *b) {
    const tort_packed_trees *packed = job->packed;
    float leaves[LANES];
    load_rows(job, row, 1, 1, b->x);
    start_rows(job, 1, b);
    for (int32_t t = 0; t < packed->tree_count && walk_goes_on(job, t, t, LANES); t += LANES) {
        job->simd->walk_trees(packed->trees + t, b->x, packed->bits, leaves);
        for (int32_t i = 0; i < LANES && t + i < packed->tree_count; i++)
            add_vote(job, t + i, leaves[i], b->scores, b->voted);
    }
    finish_rows(job, row, 1, b);
}

static void walk_block(const tree_job *job, int64_t first, int64_t rows, const tree_buffers *b) {
    const tort_packed_trees *packed = job->packed;
    const int64_t targets = job->p->targets, group_floats = LANES * (int64_t)packed->column_count;
    float leaves[LANES];
    int64_t walks = 0;
    for (int64_t at = 0; at < rows; at += LANES)
        load_rows(job, first + at, rows - at < LANES ? rows - at : LANES, LANES, b->x + at / LANES * group_floats);
    start_rows(job, rows, b);
    for (int32_t t = 0; t < packed->tree_count; t++)
        for (int64_t at = 0; at < rows; at += LANES) {
            if (!walk_goes_on(job, walks++, t, 1)) return;
            job->simd->walk_rows(packed->trees[t], b->x + at / LANES * group_floats, packed->bits, leaves);
            for (int64_t i = 0; i < LANES && at + i < rows; i++)
                add_vote(job, t, leaves[i], b->scores + (at + i) * targets, b->voted + (at + i) * targets);
        }
    finish_rows(job, first, rows, b);
}

static void run_parts(void *arg, int64_t begin, int64_t end) {
    const tree_job *job = arg;
    for (int64_t part = begin; part < end; part++) {
        const tree_buffers b = take_part(job->p, job->groups, job->parts + (size_t)part * job->part_bytes);
        const int64_t block = job->groups * LANES;
        int64_t first, last;
        tort_cpu_share(job->rows, LANES, part, job->part_count, &first, &last);
        for (; last - first >= LANES / 2 && tort_call_goes_on(job->call, 0); first += block)
            walk_block(job, first, last - first < block ? last - first : block, &b);
        for (; first < last && tort_call_goes_on(job->call, 0); first++) walk_one_row(job, first, &b);
    }
}

/* Returns the number of parts: as many as threads, if each has enough to do. */
static int64_t count_parts(const tree_job *job) {
    const tort_cpu_device *device = job->call->device;
    const int64_t min = 200000; /* nanoseconds; with less, waking a thread on a busy machine takes longer */
    const int64_t levels = 8, row = (int64_t)job->packed->tree_count * levels * STEP_COST + job->p->targets;
    const int64_t max = row > min ? job->rows : job->rows / (min / row + 1);
    const int64_t parts = max < device->threads ? max : device->threads;
    return parts < 1 ? 1 : parts;
}

static tort_status run_trees(const tort_call *call) {
    const tort_trees_params *p = call->params;
    const tort_cpu_device *device = call->device;
    tree_job job = {.call = call, .p = p, .packed = call->prepared, .simd = device->simd};
    char *scratch = call->scratch;
    tort_status status = tort_trees_input(call, &job.rows, &job.features);
    if (status || !job.rows) return status;
    tort_string *names = tort_cpu_take(&scratch, (size_t)p->names.count * sizeof *names);
    job.names = names;
    job.parts = scratch;
    job.groups = block_groups(p, job.rows);
    reserve_part(p, job.groups, &job.part_bytes);
    job.part_count = count_parts(&job);
    status = tort_trees_names(call, names);
    if (!status) tort_cpu_parts(call, (int32_t)job.part_count, run_parts, &job);
    return status;
}

#define ROW(op_)                                                                                                       \
    {                                                                                                                  \
        .domain = "ai.onnx.ml", .op = op_, .name = "trees_packed", .claim = claim_trees, .size = size_trees,           \
        .prepare = prepare_trees, .run = run_trees, .release = release_trees                                           \
    }

const tort_kernel tort_cpu_trees[] = {
    ROW("TreeEnsembleClassifier"),
    ROW("TreeEnsembleRegressor"),
    ROW("TreeEnsemble"),
    {.op = NULL},
};
