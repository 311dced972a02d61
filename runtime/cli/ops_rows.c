/* ops_rows.c - walks operator rows and kernel rows, and names sets of types, for `tinyort ops`. */
#include <stdlib.h>
#include <string.h>

#include "runtime/core/providers/chain.h"
#include "runtime/core/base/build.h"
#include "runtime/cli/ops.h"

/* ---- operators --------------------------------------------------------------------------------------------------- */

bool cli_operator_next(const cli_ops_rows *ops, cli_operator *op) {
    const tort_op *const *end = ops->table.rows + ops->table.count;
    op->rows = op->rows ? op->rows + op->count : ops->table.rows;
    op->count = 0;
    while (op->rows + op->count < end && !strcmp(op->rows[op->count]->name, op->rows[0]->name) &&
           !strcmp(op->rows[op->count]->domain, op->rows[0]->domain))
        op->count++;
    return op->count > 0;
}

const char *cli_domain_name(const char *domain) {
    return *domain ? domain : "ai.onnx";
}

bool cli_is_meant(const char *domain, const char *name, const char *word) {
    const char *own = cli_domain_name(domain);
    const size_t length = strlen(own);
    if (!strcmp(word, name)) return true;
    if (strncmp(word, own, length) != 0) return false;
    word += length;
    return (*word == '.' && !strcmp(word + 1, name)) || (!strncmp(word, "::", 2) && !strcmp(word + 2, name));
}

static int compare_rows(const void *a, const void *b) {
    const tort_op *x = *(const tort_op *const *)a, *y = *(const tort_op *const *)b;
    int order = strcmp(x->domain, y->domain);
    if (!order) order = strcmp(x->name, y->name);
    return order ? order : x->since - y->since;
}

void cli_sort_operators(cli_ops_rows *ops) {
    qsort(ops->table.rows, (size_t)ops->table.count, sizeof *ops->table.rows, compare_rows);
}

static bool has_operator(const cli_ops_rows *ops, const tort_refusal *refusal) {
    for (cli_operator op = {0}; refusal->name && cli_operator_next(ops, &op);)
        if (!strcmp(op.rows[0]->domain, refusal->domain) && !strcmp(op.rows[0]->name, refusal->name)) return true;
    return false;
}

const tort_refusal *cli_refusal_next(const cli_ops_rows *ops, const tort_refusal *before) {
    const tort_refusal *next = before ? before + 1 : tort_build.refusals;
    while (next->domain && has_operator(ops, next)) next++;
    return next->domain ? next : NULL;
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

static bool is_for(const tort_kernel *kernel, const tort_op *op) {
    return !strcmp(kernel->op, op->name) && !strcmp(kernel->domain ? kernel->domain : "", op->domain);
}

const tort_kernel *cli_kernel_next(const tort_provider *provider, const cli_operator *op, const tort_kernel *before) {
    bool behind = !before;
    for (const tort_kernel *const *table = provider->kernels; table && *table; table++)
        for (const tort_kernel *kernel = *table; kernel->op; kernel++) {
            if (behind && is_for(kernel, op->rows[0])) return kernel;
            behind = behind || kernel == before;
        }
    return NULL;
}

/* The kernel row "*" of a provider without code of its own runs the plain loop of any operator that has one. */
bool cli_has_loop(const tort_provider *provider, const cli_operator *op) {
    bool loop = false;
    for (const tort_kernel *const *table = provider->kernels; table && *table; table++)
        for (const tort_kernel *kernel = *table; kernel->op; kernel++)
            loop = loop || (!strcmp(kernel->op, "*") && tort_runs_reference(provider, kernel));
    return loop && op->rows[op->count - 1]->reference;
}

cli_service cli_service_of(const tort_provider *provider, const cli_operator *op) {
    const uint32_t flags = op->rows[op->count - 1]->flags;
    if (flags & TORT_OP_CONSTANT) return CLI_SERVICE_FOLDED;
    if (flags & (TORT_OP_ALIAS | TORT_OP_METADATA | TORT_OP_CONTROL)) return CLI_SERVICE_HOST;
    if (cli_kernel_next(provider, op, NULL)) return CLI_SERVICE_OWN;
    return cli_has_loop(provider, op) ? CLI_SERVICE_PLAIN : CLI_SERVICE_NONE;
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

#define BIT(type) (1ull << TORT_##type)
#define FLOATS (BIT(FLOAT16) | BIT(BFLOAT16) | BIT(FLOAT) | BIT(DOUBLE))
#define WIDE_INTEGERS (BIT(INT32) | BIT(INT64) | BIT(UINT32) | BIT(UINT64))
#define INTEGERS (BIT(INT8) | BIT(INT16) | BIT(UINT8) | BIT(UINT16) | WIDE_INTEGERS)
#define COMPLEX (BIT(COMPLEX64) | BIT(COMPLEX128))
#define ANY (FLOATS | INTEGERS | BIT(BOOL) | BIT(STRING) | COMPLEX)
#define FLOAT8 (BIT(FLOAT8E4M3FN) | BIT(FLOAT8E4M3FNUZ) | BIT(FLOAT8E5M2) | BIT(FLOAT8E5M2FNUZ))
#define ALL (((1ull << TORT_TYPE_COUNT) - 1) & ~1ull)

/* Named groups of types, the largest first, as name_types takes them greedily. */
static const struct {
    const char *name;
    uint64_t types;
} groups[] = {
    {"all", ALL},
    {"any", ANY},
    {"numbers", FLOATS | INTEGERS},
    {"integers", INTEGERS},
    {"floats", FLOATS},
    {"32/64-bit integers", WIDE_INTEGERS},
    {"complex", COMPLEX},
    {"float8", FLOAT8},
    {"4-bit", BIT(INT4) | BIT(UINT4) | BIT(FLOAT4E2M1)},
    {"float6", BIT(FLOAT6E2M3) | BIT(FLOAT6E3M2)},
    {"2-bit", BIT(INT2) | BIT(UINT2)},
};

const char cli_types_legend[] =
    "numbers: integers and floats (bfloat16, float16, float, double); any: numbers, bool, string, complex; all: any, and "
    "the types of 8 bits and less";

/* Names types by groups, then the rest one by one; returns the number of words. */
static int name_types(uint64_t types, char **text) {
    int words = 0;
    *text = cli_copy_text("", 0);
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        if ((types & groups[i].types) != groups[i].types) continue;
        cli_append(text, "%s%s", words++ ? ", " : "", groups[i].name);
        types &= ~groups[i].types;
    }
    for (int type = 0; type < TORT_TYPE_COUNT; type++)
        if (types >> type & 1) cli_append(text, "%s%s", words++ ? ", " : "", tort_type_name((tort_type)type));
    return words;
}

/* Names types, or says "GROUP but ..." where that takes fewer words. */
static char *tensor_types_text(uint64_t types) {
    char *best;
    int fewest = name_types(types, &best);
    for (size_t i = 0; i < sizeof groups / sizeof *groups && fewest > 1; i++) {
        const uint64_t more = types & ~groups[i].types;
        char *lacking, *beside;
        int words = 1 + name_types(groups[i].types & ~types, &lacking) + name_types(more, &beside);
        if (words < fewest && !more) {
            free(best);
            best = cli_format("%s but %s", groups[i].name, lacking);
            fewest = words;
        }
        free(lacking);
        free(beside);
    }
    return best;
}

/* Appends `name` if the set has containers of this kind; returns their element types. */
static uint64_t add_kind(char **text, const tort_type_set *set, tort_kind kind, const char *name) {
    uint64_t elements = 0;
    for (int32_t i = 0; i < set->count; i++)
        if (tort_type_kind((tort_value_type){.nest = set->nests[i]}) == kind) elements |= set->elements[i];
    if (elements) cli_append(text, "%s%s", **text ? ", " : "", name);
    return elements;
}

char *cli_types_text(const tort_type_set *set) {
    if (!set->count) return tensor_types_text(set->tensor);
    uint64_t elements = set->tensor;
    char *kinds = cli_copy_text(set->tensor ? "tensors" : "", set->tensor ? strlen("tensors") : 0);
    elements |= add_kind(&kinds, set, TORT_SEQUENCE, "sequences");
    elements |= add_kind(&kinds, set, TORT_OPTIONAL, "optionals");
    elements |= add_kind(&kinds, set, TORT_MAP, "maps");
    elements |= add_kind(&kinds, set, TORT_SPARSE, "sparse tensors");
    char *types = tensor_types_text(elements), *text = cli_format("%s of %s", kinds, types);
    free(kinds);
    free(types);
    return text;
}

tort_type_set cli_formal_types(const tort_formal *formal, const char *types) {
    tort_type_set set;
    return tort_formal_types(formal, types, &set) ? set : (tort_type_set){0};
}
