/* einsum.c - Einsum: sums of products over labelled dimensions.
 *
 * The equation is parsed into labels, for infer and for resolve. Operands are contracted from left to right, two at a
 * time; a partial result keeps the labels that are still needed. Sums are in double (integers: in 64 bits, wrapping)
 * and are rounded once at the end. */
#include "ops/einsum.h"
#include "ops/extent.h"

/* ---- the equation ------------------------------------------------------------------------------------------------ */

/* Labels of one term: 0..51 for letters, then the dimensions of "...", counted from the last. */
typedef struct einsum_term {
    int32_t rank;
    uint8_t labels[TORT_MAX_RANK];
} einsum_term;

typedef struct einsum_equation {
    int32_t operand_count;
    einsum_term operands[TORT_EINSUM_OPERANDS];
    int32_t output_rank;
    uint8_t output[TORT_EINSUM_LABELS];
} einsum_equation;

enum { LETTERS = 52 };

static int32_t letter_number(char letter) {
    if (letter >= 'A' && letter <= 'Z') return letter - 'A';
    if (letter >= 'a' && letter <= 'z') return letter - 'a' + 26;
    return -1;
}

/* Reads the labels of a term up to ',', the arrow or the end. *hidden: number of dimensions that "..." stands for; -1:
 * those of `rank` that have no letter. */
static tort_status read_term(tort_error *error, const char **cursor, int32_t rank, int32_t *hidden, uint8_t *labels,
                             int32_t max, int32_t *count) {
    const char *start = *cursor, *at;
    int32_t letters = 0;
    bool dots = false;
    for (at = start; *at && *at != ',' && *at != '-'; at++) letters += letter_number(*at) >= 0;
    if (*hidden < 0) *hidden = rank - letters;
    *count = 0;
    for (at = start; *at && *at != ',' && *at != '-'; at++) {
        if (*at == ' ') continue;
        bool is_dots = at[0] == '.' && at[1] == '.' && at[2] == '.' && !dots;
        int32_t added = is_dots ? *hidden : 1;
        if ((letter_number(*at) < 0 && !is_dots) || added < 0 || *count + added > max)
            return tort_fail(error, TORT_E_MODEL, "the equation is not valid at \"%.20s\"", at);
        if (is_dots) {
            for (int32_t i = 0; i < added; i++) labels[(*count)++] = (uint8_t)(LETTERS + added - 1 - i);
            at += 2;
            dots = true;
        } else {
            labels[(*count)++] = (uint8_t)letter_number(*at);
        }
    }
    if (!dots) *hidden = 0;
    *cursor = at;
    return TORT_OK;
}

/* Makes the output of an equation without an arrow: the hidden dimensions, then the letters that occur once, sorted. */
static void imply_output(einsum_equation *equation, int32_t hidden) {
    int32_t uses[LETTERS] = {0};
    for (int32_t o = 0; o < equation->operand_count; o++)
        for (int32_t i = 0; i < equation->operands[o].rank; i++)
            if (equation->operands[o].labels[i] < LETTERS) uses[equation->operands[o].labels[i]]++;
    for (int32_t i = 0; i < hidden; i++)
        equation->output[equation->output_rank++] = (uint8_t)(LETTERS + hidden - 1 - i);
    for (int32_t l = 0; l < LETTERS; l++)
        if (uses[l] == 1) equation->output[equation->output_rank++] = (uint8_t)l;
}

/* Reads the terms of the inputs, whose ranks are known. max_hidden: maximum number of dimensions of an ellipsis. */
static tort_status read_operands(const tort_node_view *node, tort_error *error, const char **cursor,
                                 einsum_equation *equation, int32_t *max_hidden) {
    for (int32_t i = 0; i < node->input_count; i++) {
        einsum_term *term = &equation->operands[i];
        int32_t hidden = -1, rank = node->inputs[i].rank;
        tort_status status = read_term(error, cursor, rank, &hidden, term->labels, TORT_MAX_RANK, &term->rank);
        if (status != TORT_OK) return status;
        if (term->rank != rank)
            return tort_fail(error, TORT_E_MODEL, "term %d of the equation has %d labels; its input has rank %d", i,
                             term->rank, rank);
        if (hidden > *max_hidden) *max_hidden = hidden;
        if (i + 1 < node->input_count && *(*cursor)++ != ',')
            return tort_fail(error, TORT_E_MODEL, "the equation has fewer terms than the node has inputs (%d)",
                             node->input_count);
    }
    equation->operand_count = node->input_count;
    return TORT_OK;
}

static tort_status parse_equation(const tort_node_view *node, tort_error *error, einsum_equation *equation) {
    const char *cursor = tort_attr_string(node, "equation");
    int32_t hidden = 0;
    *equation = (einsum_equation){0};
    if (node->input_count > TORT_EINSUM_OPERANDS)
        return tort_fail(error, TORT_E_UNSUPPORTED, "%d operands; at most %d are supported", node->input_count,
                         TORT_EINSUM_OPERANDS);
    tort_status status = read_operands(node, error, &cursor, equation, &hidden);
    if (status != TORT_OK) return status;
    if (*cursor == '\0') {
        imply_output(equation, hidden);
        return TORT_OK;
    }
    if (cursor[0] != '-' || cursor[1] != '>')
        return tort_fail(error, TORT_E_MODEL, "the equation has more terms than the node has inputs (%d)",
                         node->input_count);
    cursor += 2;
    status = read_term(error, &cursor, 0, &hidden, equation->output, TORT_EINSUM_LABELS, &equation->output_rank);
    if (status == TORT_OK && *cursor) status = tort_fail(error, TORT_E_MODEL, "the output has more than one term");
    return status;
}

/* ---- infer and resolve ------------------------------------------------------------------------------------------- */

/* Fills the sizes of the labels that are used. A size of 1 broadcasts: it gives way to any other. */
static tort_status label_sizes(const tort_node_view *node, tort_error *error, const einsum_equation *equation,
                               tort_dim *sizes, bool *used) {
    memset(used, 0, TORT_EINSUM_LABELS * sizeof *used);
    for (int32_t o = 0; o < equation->operand_count; o++) {
        const einsum_term *term = &equation->operands[o];
        for (int32_t i = 0; i < term->rank; i++) {
            int32_t l = term->labels[i];
            tort_dim dim = node->inputs[o].dims[i];
            if (used[l] && tort_dim_known(dim) && tort_dim_known(sizes[l]) && dim != sizes[l] && dim != 1 &&
                sizes[l] != 1)
                return tort_fail(error, TORT_E_MODEL,
                                 "dimension %d of input %d is %lld; the equation says it equals one of %lld", i, o,
                                 (long long)dim, (long long)sizes[l]);
            /* A known size above 1 is more precise than a symbol. */
            if (!used[l] || sizes[l] == 1 || (dim > 1 && !tort_dim_known(sizes[l]))) sizes[l] = dim;
            used[l] = true;
        }
    }
    for (int32_t i = 0; i < equation->output_rank; i++) {
        if (!used[equation->output[i]])
            return tort_fail(error, TORT_E_MODEL, "label %d of the output is in no input", i);
        for (int32_t k = 0; k < i; k++)
            if (equation->output[k] == equation->output[i])
                return tort_fail(error, TORT_E_MODEL, "label %d of the output occurs twice", i);
    }
    return TORT_OK;
}

static bool ranks_known(const tort_node_view *node) {
    for (int32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i].rank < 0) return false;
    return true;
}

static tort_status infer_einsum(tort_infer *infer) {
    einsum_equation equation;
    tort_dim sizes[TORT_EINSUM_LABELS], dims[TORT_MAX_RANK];
    bool used[TORT_EINSUM_LABELS];
    infer->outputs[0].type = infer->node->inputs[0].type;
    if (!ranks_known(infer->node)) return TORT_OK;
    tort_status status = parse_equation(infer->node, infer->error, &equation);
    if (status == TORT_OK) status = label_sizes(infer->node, infer->error, &equation, sizes, used);
    if (status != TORT_OK) return status;
    if (equation.output_rank > TORT_MAX_RANK)
        return tort_fail(infer->error, TORT_E_UNSUPPORTED, "the output has rank %d; at most %d is supported",
                         equation.output_rank, TORT_MAX_RANK);
    for (int32_t i = 0; i < equation.output_rank; i++) dims[i] = sizes[equation.output[i]];
    tort_infer_shape(infer, 0, infer->node->inputs[0].type, equation.output_rank, dims);
    return TORT_OK;
}

/* Labels, as bits, of the partial result after operand `last`: those it has seen that the output or a later operand
 * needs. */
static uint64_t partial_labels(const tort_einsum_params *params, int32_t last) {
    uint64_t seen = 0, needed = 0;
    for (int32_t l = 0; l < params->label_count; l++)
        if (params->in_output[l]) needed |= (uint64_t)1 << l;
    for (int32_t o = 0; o < params->operand_count; o++) {
        if (o <= last) seen |= params->uses[o];
        if (o > last) needed |= params->uses[o];
    }
    return seen & needed;
}

static int64_t partial_count(const tort_einsum_params *params, int32_t last) {
    uint64_t labels = partial_labels(params, last);
    int64_t count = 1;
    for (int32_t l = 0; l < params->label_count; l++)
        if (labels >> l & 1 && __builtin_mul_overflow(count, params->sizes[l], &count)) count = INT64_MAX;
    return count;
}

/* Scratch: all operands in 8-byte elements, and two partial results, of which one is read while the other is
 * written. */
static tort_status count_scratch(tort_resolve *resolve, const tort_einsum_params *params) {
    int64_t largest = 0;
    size_t total = 0, bytes;
    for (int32_t o = 0; o < params->operand_count; o++) {
        int64_t count = partial_count(params, o);
        if (count > largest) largest = count;
        if (!tort_add_size(total, (uint64_t)params->operands[o].count, &total)) total = SIZE_MAX;
    }
    if (!tort_mul_size((uint64_t)largest, 2, &bytes) || !tort_add_size(total, bytes, &total) ||
        !tort_mul_size(total, sizeof(double), &resolve->scratch_bytes))
        return tort_fail(resolve->error, TORT_E_MEMORY, "a partial result of %lld elements does not fit in memory",
                         (long long)largest);
    return TORT_OK;
}

/* Numbers the used labels from 0; number[l] is the number of label l. */
static void number_labels(const tort_dim *sizes, const bool *used, tort_einsum_params *params, int32_t *number) {
    for (int32_t l = 0; l < TORT_EINSUM_LABELS; l++) {
        if (!used[l]) continue;
        params->sizes[params->label_count] = sizes[l];
        number[l] = params->label_count++;
    }
}

static void resolve_operand(const tort_info *info, const einsum_term *term, const int32_t *number,
                            tort_einsum_operand *operand, uint64_t *uses) {
    for (int32_t i = 0; i < info->rank; i++) *uses |= (uint64_t)1 << number[term->labels[i]];
    if (!tort_shape_known(info)) return;
    operand->count = tort_extent(info->dims, 0, info->rank);
    for (int32_t i = 0; i < info->rank; i++) {
        int32_t l = number[term->labels[i]];
        if (info->dims[i] != 1) operand->strides[l] += tort_extent(info->dims, i + 1, info->rank);
    }
}

static void resolve_output(const einsum_equation *equation, const int32_t *number, tort_einsum_params *params) {
    int64_t stride = 1;
    params->output_rank = equation->output_rank;
    for (int32_t i = equation->output_rank - 1; i >= 0; i--) {
        int32_t l = number[equation->output[i]];
        params->output.strides[l] = stride;
        if (__builtin_mul_overflow(stride, params->sizes[l], &stride)) stride = INT64_MAX;
    }
    params->output.count = stride;
}

static tort_status resolve_einsum(tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    tort_einsum_params *params = resolve->params;
    einsum_equation equation;
    tort_dim sizes[TORT_EINSUM_LABELS];
    bool used[TORT_EINSUM_LABELS];
    int32_t number[TORT_EINSUM_LABELS] = {0};
    if (!ranks_known(node)) return TORT_OK;
    tort_status status = parse_equation(node, resolve->error, &equation);
    if (status == TORT_OK) status = label_sizes(node, resolve->error, &equation, sizes, used);
    if (status != TORT_OK) return status;
    number_labels(sizes, used, params, number);
    params->operand_count = equation.operand_count;
    for (int32_t o = 0; o < equation.operand_count; o++)
        resolve_operand(&node->inputs[o], &equation.operands[o], number, &params->operands[o], &params->uses[o]);
    for (int32_t i = 0; i < equation.output_rank; i++) params->in_output[number[equation.output[i]]] = true;
    if (!tort_inputs_known(node)) return TORT_OK;
    resolve_output(&equation, number, params);
    return count_scratch(resolve, params);
}

/* ---- contracting two operands ------------------------------------------------------------------------------------ */

/* An array of 8-byte elements, and its stride along each label. */
typedef struct einsum_array {
    void *data;
    const int64_t *strides;
} einsum_array;

/* A contraction: c[...] += a[...] * b[...] over all labels of `order`. */
typedef struct einsum_task {
    const tort_call *call;
    const tort_einsum_params *params;
    einsum_array a, b, c; /* b.data NULL: 1 */
    bool integers;
    int32_t order[TORT_EINSUM_LABELS]; /* the labels, outermost first; the first is divided among threads */
    int32_t rank;
} einsum_task;

enum { PART = 1 << 18 }; /* products between which a run may end */

#define INNER_LOOP(name, type)                                                                                         \
    static void name(int64_t count, type *c, int64_t sc, const type *a, int64_t sa, const type *b, int64_t sb) {       \
        if (sc == 1 && sa == 0 && sb == 1) {                                                                           \
            for (int64_t i = 0; i < count; i++) c[i] += a[0] * b[i];                                                   \
        } else if (sc == 1 && sa == 1 && sb == 0) {                                                                    \
            for (int64_t i = 0; i < count; i++) c[i] += a[i] * b[0];                                                   \
        } else if (sc == 0) {                                                                                          \
            type sum = 0;                                                                                              \
            for (int64_t i = 0; i < count; i++) sum += a[i * sa] * b[i * sb];                                          \
            c[0] += sum;                                                                                               \
        } else {                                                                                                       \
            for (int64_t i = 0; i < count; i++) c[i * sc] += a[i * sa] * b[i * sb];                                    \
        }                                                                                                              \
    }
INNER_LOOP(inner_floats, double)
INNER_LOOP(inner_integers, uint64_t)

static void inner_loop(const einsum_task *task, int64_t count, const int64_t at[3], const int64_t steps[3]) {
    static const double one = 1;
    static const uint64_t whole_one = 1;
    if (task->integers)
        inner_integers(count, (uint64_t *)task->c.data + at[2], steps[2], (const uint64_t *)task->a.data + at[0],
                       steps[0], task->b.data ? (const uint64_t *)task->b.data + at[1] : &whole_one, steps[1]);
    else
        inner_floats(count, (double *)task->c.data + at[2], steps[2], (const double *)task->a.data + at[0], steps[0],
                     task->b.data ? (const double *)task->b.data + at[1] : &one, steps[1]);
}

/* The loop along the innermost label, in parts; false: the run is over. *done counts products. */
static bool inner_parts(const einsum_task *task, int64_t count, const int64_t at[3], const int64_t steps[3],
                        int64_t *done) {
    for (int64_t i = 0; i < count; i += PART) {
        const int64_t some = count - i < PART ? count - i : PART;
        const int64_t from[3] = {at[0] + i * steps[0], at[1] + i * steps[1], at[2] + i * steps[2]};
        if (!tort_work_goes_on(task->call->watch, done, some)) return false;
        inner_loop(task, some, from, steps);
    }
    return true;
}

/* Contracts indices begin .. end-1 of the outermost label. */
static void contract_part(void *arg, int64_t begin, int64_t end) {
    const einsum_task *task = arg;
    const int64_t *strides[3] = {task->a.strides, task->b.strides, task->c.strides};
    const int64_t *sizes = task->params->sizes;
    const int32_t last = task->rank - 1;
    int64_t index[TORT_EINSUM_LABELS] = {0}, at[3] = {0}, steps[3] = {0}, done = 0;
    if (task->rank == 0) {
        inner_loop(task, 1, at, steps);
        return;
    }
    for (int32_t k = 0; k < 3; k++) {
        steps[k] = strides[k][task->order[last]];
        at[k] = begin * strides[k][task->order[0]];
    }
    if (last == 0) {
        inner_parts(task, end - begin, at, steps, &done);
        return;
    }
    index[0] = begin;
    while (inner_parts(task, sizes[task->order[last]], at, steps, &done)) {
        int32_t d = last - 1;
        for (; d >= 0; d--) {
            const int32_t l = task->order[d];
            for (int32_t k = 0; k < 3; k++) at[k] += strides[k][l];
            if (++index[d] < (d == 0 ? end : sizes[l])) break;
            if (d == 0) return;
            for (int32_t k = 0; k < 3; k++) at[k] -= sizes[l] * strides[k][l];
            index[d] = 0;
        }
    }
}

/* Orders the labels: kept ones first, so that threads never share an element of c; innermost the one along which most
 * arrays are contiguous or constant. */
static void order_labels(einsum_task *task, uint64_t labels, uint64_t kept) {
    int32_t best = -1, best_score = -1;
    for (int32_t l = 0; l < task->params->label_count; l++) {
        if (!(labels >> l & 1)) continue;
        int32_t score = (task->a.strides[l] <= 1) + (task->b.strides[l] <= 1) + (task->c.strides[l] <= 1);
        if (score > best_score) best = l;
        if (score > best_score) best_score = score;
    }
    for (int32_t pass = 0; pass < 2; pass++)
        for (int32_t l = 0; l < task->params->label_count; l++)
            if (labels >> l & 1 && l != best && (kept >> l & 1) == (pass == 0)) task->order[task->rank++] = l;
    if (best >= 0) task->order[task->rank++] = best;
}

static void contract(const tort_call *call, einsum_task *task, uint64_t labels, uint64_t kept, int64_t count) {
    for (int64_t at = 0; at < count && tort_row_goes_on(call->watch, at); at += PART)
        memset((double *)task->c.data + at, 0, (size_t)(count - at < PART ? count - at : PART) * sizeof(double));
    int64_t work = 2;
    for (int32_t l = 0; l < task->params->label_count; l++) {
        if (!(labels >> l & 1)) continue;
        if (task->params->sizes[l] == 0) return;
        if (__builtin_mul_overflow(work, task->params->sizes[l], &work)) work = INT64_MAX;
    }
    order_labels(task, labels, kept);
    if (task->rank > 0 && kept >> task->order[0] & 1)
        tort_parallel(call, task->params->sizes[task->order[0]], work / task->params->sizes[task->order[0]],
                      contract_part, task);
    else if (tort_call_goes_on(call, work))
        contract_part(task, 0, task->rank > 0 ? task->params->sizes[task->order[0]] : 1);
}

/* ---- the operator ------------------------------------------------------------------------------------------------ */

/* Layout of scratch: two partial results, used in turn, then the operands. */
typedef struct einsum_memory {
    double *partial[2];
    int64_t strides[2][TORT_EINSUM_LABELS];
    double *operand; /* place of the next operand */
} einsum_memory;

static void divide_scratch(const tort_call *call, einsum_memory *memory) {
    const tort_einsum_params *params = call->params;
    int64_t largest = 0;
    for (int32_t o = 0; o < params->operand_count; o++)
        if (partial_count(params, o) > largest) largest = partial_count(params, o);
    memory->partial[0] = call->scratch;
    memory->partial[1] = memory->partial[0] + largest;
    memory->operand = memory->partial[1] + largest;
}

static einsum_array load_operand(const tort_call *call, int32_t o, bool integers, einsum_memory *memory) {
    const tort_einsum_operand *operand = &((const tort_einsum_params *)call->params)->operands[o];
    const tort_tensor *tensor = &call->inputs[o];
    double *into = memory->operand;
    memory->operand += operand->count;
    for (int64_t at = 0, some; at < operand->count && tort_row_goes_on(call->watch, at); at += some) {
        some = operand->count - at < PART ? operand->count - at : PART;
        if (integers)
            tort_load_integers(tensor->type, tensor->data, at, some, (int64_t *)(void *)into + at);
        else
            tort_load_doubles(tensor->type, tensor->data, at, some, into + at);
    }
    return (einsum_array){into, operand->strides};
}

/* Place of the partial result of operands 0 .. o: with the output's strides for the last, dense before. */
static einsum_array place_partial(const tort_einsum_params *params, int32_t o, einsum_memory *memory) {
    const uint64_t kept = partial_labels(params, o);
    int64_t *strides = memory->strides[o % 2], stride = 1;
    if (o == params->operand_count - 1) return (einsum_array){memory->partial[o % 2], params->output.strides};
    memset(strides, 0, sizeof memory->strides[0]);
    for (int32_t l = params->label_count - 1; l >= 0; l--) {
        if (!(kept >> l & 1)) continue;
        strides[l] = stride;
        stride *= params->sizes[l];
    }
    return (einsum_array){memory->partial[o % 2], strides};
}

static tort_status einsum(const tort_call *call) {
    static const int64_t no_strides[TORT_EINSUM_LABELS] = {0};
    const tort_einsum_params *params = call->params;
    const tort_tensor *output = &call->outputs[0];
    const bool integers = !tort_type_is_float(output->type);
    einsum_array result = {NULL, no_strides};
    einsum_memory memory;
    if (params->output.count == 0) return TORT_OK;
    divide_scratch(call, &memory);
    for (int32_t o = 0; o < params->operand_count; o++) {
        const einsum_array loaded = load_operand(call, o, integers, &memory);
        if (o == 0 && params->operand_count > 1) {
            result = loaded; /* the first operand is the partial result as it is */
            continue;
        }
        einsum_task task = {.call = call, .params = params, .integers = integers};
        const uint64_t before = o > 1 ? partial_labels(params, o - 1) : params->uses[0];
        task.a = o > 0 ? result : loaded;
        task.b = o > 0 ? loaded : (einsum_array){NULL, no_strides};
        task.c = result = place_partial(params, o, &memory);
        contract(call, &task, before | params->uses[o], partial_labels(params, o), partial_count(params, o));
    }
    for (int64_t at = 0, some; at < params->output.count && tort_row_goes_on(call->watch, at); at += some) {
        some = params->output.count - at < PART ? params->output.count - at : PART;
        if (integers)
            tort_store_integers(output->type, output->data, at, some, (const int64_t *)result.data + at);
        else
            tort_store_doubles(output->type, output->data, at, some, (const double *)result.data + at);
    }
    return TORT_OK;
}

#define BY .params_size = sizeof(tort_einsum_params), infer_einsum, resolve_einsum, einsum

const tort_op tort_ops_einsum[] = {
    {"", "Einsum", 12, 27, "Inputs*:T", "Output:T", "T=numeric", "equation:string!", BY},
    {"", "Einsum", 28, TORT_NEWEST_OPSET, "Inputs*:T", "Output:T", "T=numeric13", "equation:string!", BY},
    {0},
};
