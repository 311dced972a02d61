/* engine_provider.c - an execution provider that takes whole pieces of a model, written for readers.
 *
 * "engine" has no kernel for any single node. Its rows say which nodes it could compile together with others; the core
 * finds such nodes that hang together (a segment) and offers each segment as one node. What the engine accepts it
 * compiles, once for each list of shapes, into a list of instructions; a run goes through the list and allocates
 * nothing. What it refuses goes to the next provider of the chain, with the reason in the report.
 * Read first: tests/fake_provider.c, for what any provider has. Read next: ahead_provider.c, whose device is asked;
 * runtime/core/passes/segment.c, which asks this one. */
#include "tests/segments/engine_provider.h"

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static bool is_repeated(const tort_info *part, const tort_info *whole) {
    bool same = part->rank <= whole->rank;
    for (int32_t d = 1; same && d <= part->rank; d++) same = part->dims[part->rank - d] == whole->dims[whole->rank - d];
    return same;
}

/* Of one node: could the engine have it? Dimensions may be symbols; equal ones are the same number. */
static tort_verdict claim_node(const tort_target *target, const tort_node_view *node) {
    (void)target;
    for (int32_t i = 0; i < node->input_count; i++) {
        const tort_info *input = &node->inputs[i];
        if (input->type != TORT_FLOAT)
            return tort_no(TORT_NO_TYPE, "", "input %d is %s, engine computes in float", i,
                           tort_type_name(input->type));
        if (!is_repeated(input, &node->outputs[0]))
            return tort_no(TORT_NO_SHAPE, "", "input %d is broadcast along inner dimensions", i);
    }
    return tort_yes();
}

/* Of all of them together: is it worth it? */
static tort_verdict claim_segment(const tort_target *target, const tort_node_view *node) {
    (void)target;
    if (node->segment->node_count > 1) return tort_yes();
    return tort_no(TORT_NO_SHAPE, "", "a segment of one node is not worth compiling");
}

/* ---- compiling --------------------------------------------------------------------------------------------------- */

/* Where a value of the segment is in a run: an input, an output, or so many floats into the scratch. */
typedef struct place {
    enum { INPUT, OUTPUT, SCRATCH } home;
    int64_t at;
} place;

typedef struct instruction {
    char op; /* the first letter */
    place a, b, y;
    int64_t count, a_count, b_count; /* elements */
} instruction;

typedef struct program {
    size_t bytes; /* of itself, to be freed */
    int32_t count;
    instruction code[];
} program;

static int64_t count_of(const tort_info *info) {
    int64_t count = 1;
    for (int32_t d = 0; d < info->rank; d++) count *= info->dims[d];
    return count;
}

/* Gives every value its place (NULL: they are not wanted). Returns the floats that are needed beside inputs and
 * outputs.
 */
static int64_t lay_out(const tort_segment_view *s, place *places) {
    int64_t used = 0;
    for (int32_t v = 0, o = 0; v < s->value_count; v++) {
        place p = {INPUT, v};
        if (v >= s->input_count && o < s->output_count && s->outputs[o] == v) {
            p = (place){OUTPUT, o++};
        } else if (v >= s->input_count) {
            p = (place){SCRATCH, used};
            used += count_of(&s->values[v]);
        }
        if (places) places[v] = p;
    }
    return used;
}

/* The core plans this memory with all else, and lends it to others when the segment does not run. */
static tort_status size_segment(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                tort_error *error) {
    (void)target, (void)error;
    *scratch = (size_t)lay_out(node->segment, NULL) * sizeof(float);
    return TORT_OK;
}

/* Called once for the shapes of the segment's values, which are numbers here. Plans of these shapes share what is left
 * in fit->fitted. */
static tort_status compile(tort_fit *fit) {
    const tort_segment_view *s = fit->node->segment;
    const size_t values = (size_t)s->value_count, bytes = sizeof(program) + (size_t)s->node_count * sizeof(instruction);
    place *places = tort_alloc_zero(fit->env, values, sizeof *places);
    program *made = places ? tort_alloc_zero(fit->env, 1, bytes) : NULL;
    if (made) {
        lay_out(s, places);
        *made = (program){.bytes = bytes, .count = s->node_count};
    }
    for (int32_t i = 0; made && i < s->node_count; i++) {
        const tort_segment_node *node = &s->nodes[i];
        const int32_t a = node->inputs[0], b = node->inputs[node->input_count - 1], y = node->outputs[0];
        made->code[i] = (instruction){.op = *node->op->name,
                                      .a = places[a],
                                      .b = places[b],
                                      .y = places[y],
                                      .count = count_of(&s->values[y]),
                                      .a_count = count_of(&s->values[a]),
                                      .b_count = count_of(&s->values[b])};
    }
    tort_free(fit->env, places, values * sizeof *places);
    fit->fitted = made;
    return made ? TORT_OK : tort_fail(fit->error, TORT_E_MEMORY, "no memory to compile %d nodes", s->node_count);
}

static void release(void *device, const tort_env *env, void *fitted) {
    (void)device;
    tort_free(env, fitted, ((program *)fitted)->bytes);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static float *at(const tort_call *call, place p) {
    if (p.home == SCRATCH) return (float *)call->scratch + p.at;
    return p.home == INPUT ? call->inputs[p.at].data : call->outputs[p.at].data;
}

static tort_status run_segment(const tort_call *call) {
    const program *made = call->fitted;
    for (const instruction *in = made->code; in < made->code + made->count; in++) {
        const float *a = at(call, in->a), *b = at(call, in->b);
        float *y = at(call, in->y);
        for (int64_t i = 0; i < in->count; i++)
            y[i] = in->op == 'R'   ? (a[i] > 0 ? a[i] : 0)
                   : in->op == 'A' ? a[i % in->a_count] + b[i % in->b_count]
                   : in->op == 'M' ? a[i % in->a_count] * b[i % in->b_count]
                                   : a[i];
    }
    return TORT_OK;
}

/* ---- the provider ------------------------------------------------------------------------------------------------ */

static void open_engine(const tort_provider_config *config, void **device, tort_target *target,
                        tort_condition *condition) {
    (void)config;
    *device = NULL;
    *target = (tort_target){.description = "an engine that exists in tests only"};
    *condition = (tort_condition){.ready = true, .code = "READY"};
}

/* What can be in a segment. TORT_SEGMENT_MAY would be for rows that also have a `run` of their own. */
static const tort_kernel rows[] = {
    {.domain = "", .op = "Add", .name = "add", .claim = claim_node, .segment = TORT_SEGMENT_ONLY},
    {.domain = "", .op = "Mul", .name = "mul", .claim = claim_node, .segment = TORT_SEGMENT_ONLY},
    {.domain = "", .op = "Relu", .name = "relu", .claim = claim_node, .segment = TORT_SEGMENT_ONLY},
    {.domain = "", .op = "Identity", .name = "copy", .claim = claim_node, .segment = TORT_SEGMENT_ONLY},
    {.op = NULL},
};

/* A segment is run by a kernel like any other. */
static const tort_kernel segments = {.name = "compiled",
                                     .claim = claim_segment,
                                     .size = size_segment,
                                     .fit = compile,
                                     .unfit = release,
                                     .run = run_segment};

const tort_kernel *const engine_tables[] = {rows, NULL};
const tort_provider engine_provider = {.abi = TORT_PROVIDER_ABI,
                                       .name = "engine",
                                       .summary = "for tests: compiles Add, Mul and Relu together",
                                       .host_memory = true,
                                       .kernels = engine_tables,
                                       .open = open_engine,
                                       .segments = &segments};
const tort_provider *const engine_providers[] = {&engine_provider, NULL};
