/* share.c - finds units that pack the same weights in the same way, so that one packed block serves them all: layers
 * that share weights (ALBERT), a recurrent network unrolled, heads over several levels of a pyramid.
 *
 * What a kernel packs follows from its constants, its params and the types of its operands alone (tort_pack); so units
 * that agree on these are twins: the later one packs nothing and reads the block of the first. Constants are compared
 * by identity: a weight that several nodes read is one constant, whatever the names. Read next: pack.c. */
#include <string.h>

#include "runtime/core/lowered/constants.h"
#include "runtime/core/passes/passes.h"

#define COMPARED 16 /* units of one constant that a unit is compared with: bounds adversarial models */

/* A unit that packs for itself, in the list of the first constant that it packs. */
typedef struct owner {
    const tort_lowered *lowered;
    int32_t unit, next; /* next: an index into owners, -1 */
} owner;

typedef struct sharer {
    tort_session *session;
    owner *owners;
    int32_t *first; /* by constant: the latest owner, -1 */
    int32_t count;
} sharer;

/* The constant that operand `value` is; -1: it is none. */
static int32_t constant_of(const tort_lowered *lowered, int32_t value) {
    return value >= 0 && tort_is_constant(lowered, value) ? lowered->constant_of[value] : -1;
}

/* The first constant that the unit packs; -1: none, or it has no packed weights. */
static int32_t first_packed(const tort_lowered *lowered, int32_t index) {
    const tort_unit *unit = &lowered->units[index];
    const tort_node *node = &lowered->graph.nodes[index];
    if (!unit->packed_bytes || unit->provider < 0 || unit->segment) return -1;
    for (int32_t i = 0; i < node->input_count && i < 32; i++)
        if (unit->consumed >> i & 1) return constant_of(lowered, node->inputs[i]);
    return -1;
}

/* `constants`: bits of the inputs whose constants must be the same. */
static bool same_operands(const tort_lowered *a, const tort_node *x, const tort_lowered *b, const tort_node *y,
                          uint32_t constants) {
    if (x->input_count != y->input_count || x->output_count != y->output_count) return false;
    for (int32_t i = 0; i < x->input_count; i++) {
        if ((x->inputs[i] < 0) != (y->inputs[i] < 0)) return false;
        const bool compared = i > 31 || constants >> i & 1;
        if (compared && constant_of(a, x->inputs[i]) != constant_of(b, y->inputs[i])) return false;
        if (x->inputs[i] >= 0 && a->infos[x->inputs[i]].type != b->infos[y->inputs[i]].type) return false;
    }
    for (int32_t i = 0; i < x->output_count; i++)
        if (x->outputs[i] >= 0 && y->outputs[i] >= 0 && a->infos[x->outputs[i]].type != b->infos[y->outputs[i]].type)
            return false;
    return true;
}

static bool are_twins(const owner *a, const tort_lowered *lowered, int32_t index) {
    const tort_unit *x = &a->lowered->units[a->unit], *y = &lowered->units[index];
    const tort_node *left = &a->lowered->graph.nodes[a->unit], *right = &lowered->graph.nodes[index];
    if (x->provider != y->provider || x->kernel != y->kernel || x->packed_bytes != y->packed_bytes) return false;
    if (x->consumed != y->consumed || x->layout.id != y->layout.id || left->op != right->op) return false;
    const tort_pack *pack = &x->kernel->pack;
    if (!same_operands(a->lowered, left, lowered, right, pack->alike ? x->consumed : UINT32_MAX)) return false;
    if (!x->params != !y->params) return false;
    if (pack->alike && x->params) return pack->alike(x->params, y->params);
    return !x->params || memcmp(x->params, y->params, left->op->params_size) == 0;
}

static void share_unit(sharer *s, tort_lowered *lowered, int32_t index) {
    const int32_t constant = first_packed(lowered, index);
    tort_unit *unit = &lowered->units[index];
    if (constant < 0) return;
    int32_t at = s->first[constant];
    for (int32_t tries = 0; at >= 0 && tries < COMPARED; tries++, at = s->owners[at].next) {
        if (!are_twins(&s->owners[at], lowered, index)) continue;
        unit->twin = &s->owners[at].lowered->units[s->owners[at].unit];
        return;
    }
    s->owners[s->count] = (owner){lowered, index, s->first[constant]};
    s->first[constant] = s->count++;
}

static void share_all(sharer *s) {
    for (int32_t i = 0; i < s->session->constant_count; i++) s->first[i] = -1;
    for (int32_t g = 0; g < s->session->graph_count; g++) {
        tort_lowered *lowered = &s->session->graphs[g];
        for (int32_t i = 0; lowered->lowered && i < lowered->graph.node_count; i++) share_unit(s, lowered, i);
    }
}

tort_status tort_share_packed(tort_session *session, tort_error *error) {
    const tort_env *env = &session->env;
    size_t units = 1, constants = (size_t)session->constant_count + 1;
    for (int32_t g = 0; g < session->graph_count; g++)
        if (session->graphs[g].lowered) units += (size_t)session->graphs[g].graph.node_count;
    sharer s = {.session = session,
                .owners = tort_alloc_zero(env, units, sizeof(owner)),
                .first = tort_alloc_zero(env, constants, sizeof(int32_t))};
    const bool there = s.owners && s.first;
    if (there) share_all(&s);
    tort_free(env, s.owners, units * sizeof(owner));
    tort_free(env, s.first, constants * sizeof(int32_t));
    return there ? TORT_OK : tort_out_of_memory(error, units * sizeof(owner));
}

void tort_share_places(tort_session *session) {
    for (int32_t g = 0; g < session->graph_count; g++) {
        tort_lowered *lowered = &session->graphs[g];
        for (int32_t i = 0; lowered->lowered && i < lowered->graph.node_count; i++)
            if (lowered->units[i].twin) lowered->units[i].packed = lowered->units[i].twin->packed;
    }
}
