/* cpu_kernel_cases_attention.c - makers of random nodes of FusedAttention, Attention and com.microsoft's operators like
 * it. Lengths are on both sides of what makes a product a packed one, and of a block of queries. Read first:
 * cpu_kernel_cases.c. */
#include "tests/unit/cpu_kernel_cases.h"

#include <math.h>

#include "ops/numeric.h"

static const int64_t lengths[] = {1, 2, 5, 9, 33, 200}, sizes[] = {2, 7, 16, 40};

static void skip(random_node *n) {
    n->input_count++; /* absent */
}

static void begin(random_node *n, int64_t heads) {
    add_int(n, "num_heads", heads);
    n->opset = 1;
    n->tolerance = 1e-4f;
}

/* A mask of keys: where each batch ends, or which of its keys count. */
static void add_key_mask(random_node *n, random_source *r, int64_t batch, int64_t keys) {
    int64_t values[2 * 240];
    const int64_t ends[1] = {batch}, all[2] = {batch, keys};
    const bool elements = chance(r, 50);
    for (int64_t i = 0; i < batch * (elements ? keys : 1); i++) values[i] = elements ? draw(r, 0, 1) : draw(r, 0, keys);
    add_numbers(n, elements ? 2 : 1, elements ? all : ends, values);
}

void make_projected_attention(random_node *n, random_source *r) {
    const int64_t batch = draw(r, 1, 2), heads = draw(r, 1, 3), length = pick(r, lengths, 6), size = pick(r, sizes, 4);
    const int64_t depth = draw(r, 1, 20), past = chance(r, 40) ? draw(r, 0, 30) : 0, width = 3 * heads * size;
    begin(n, heads);
    add_tensor(n, r, 3, (const int64_t[]){batch, length, depth});
    add_tensor(n, r, 2, (const int64_t[]){depth, width});
    n->constant[1] = chance(r, 60);
    add_tensor(n, r, 1, &width);
    if (chance(r, 50))
        add_key_mask(n, r, batch, past + length);
    else
        skip(n);
    if (past) add_tensor(n, r, 5, (const int64_t[]){2, batch, heads, past, size});
    add_int(n, "unidirectional", draw(r, 0, 1));
}

void make_multi_head(random_node *n, random_source *r) {
    const int64_t batch = draw(r, 1, 2), heads = draw(r, 1, 3), length = pick(r, lengths, 6), size = pick(r, sizes, 4);
    const int64_t keys = chance(r, 50) ? length : pick(r, lengths, 6), past = chance(r, 40) ? draw(r, 0, 30) : 0;
    const int64_t width = heads * size, all = 3 * width;
    begin(n, heads);
    add_tensor(n, r, 3, (const int64_t[]){batch, length, width});
    for (int32_t i = 0; i < 2; i++) add_tensor(n, r, 3, (const int64_t[]){batch, keys, width});
    if (chance(r, 50))
        add_tensor(n, r, 1, &all);
    else
        skip(n);
    if (chance(r, 50))
        add_key_mask(n, r, batch, past + keys);
    else
        skip(n);
    if (chance(r, 30))
        add_tensor(n, r, 4, (const int64_t[]){1, heads, length, past + keys});
    else
        skip(n);
    for (int32_t i = 0; i < 2 && past; i++) add_tensor(n, r, 4, (const int64_t[]){batch, heads, past, size});
    add_int(n, "unidirectional", draw(r, 0, 1));
}

void make_decoder_masked(random_node *n, random_source *r) {
    const int64_t batch = draw(r, 1, 2), heads = draw(r, 1, 3), size = pick(r, sizes, 4);
    const int64_t past = draw(r, 0, 60), room = past + draw(r, 1, 5), one = 1;
    begin(n, heads);
    for (int32_t i = 0; i < 3; i++) add_tensor(n, r, 3, (const int64_t[]){batch, 1, heads * size});
    for (int32_t i = 0; i < 2; i++) skip(n);
    for (int32_t i = 0; i < 2; i++) add_tensor(n, r, 4, (const int64_t[]){batch, heads, room, size});
    add_numbers(n, 1, &one, &past);
}

void make_group_query(random_node *n, random_source *r) {
    const int64_t key_heads = draw(r, 1, 3), heads = key_heads * draw(r, 1, 6), size = pick(r, sizes, 4);
    const int64_t past = chance(r, 50) ? draw(r, 1, 60) : 0, length = past && chance(r, 60) ? 1 : pick(r, lengths, 6);
    const int64_t batch = past && length > 1 ? 1 : draw(r, 1, 2), total = past + length, half = size / 2, one = 1;
    int64_t ends[2];
    begin(n, heads);
    add_int(n, "kv_num_heads", key_heads);
    add_tensor(n, r, 3, (const int64_t[]){batch, length, heads * size});
    for (int32_t i = 0; i < 2; i++) add_tensor(n, r, 3, (const int64_t[]){batch, length, key_heads * size});
    for (int32_t i = 0; i < 2; i++) {
        if (past)
            add_tensor(n, r, 4, (const int64_t[]){batch, key_heads, past, size});
        else
            skip(n);
    }
    for (int64_t b = 0; b < batch; b++) ends[b] = past && b ? draw(r, length, total) - 1 : total - 1;
    add_numbers(n, 1, &batch, ends);
    add_numbers(n, 1, &one, &total);
    if (half && chance(r, 60)) {
        add_int(n, "do_rotary", 1);
        add_int(n, "rotary_interleaved", draw(r, 0, 1));
        for (int32_t i = 0; i < 2; i++) add_tensor(n, r, 2, (const int64_t[]){total, half});
    }
    if (chance(r, 30)) add_int(n, "local_window_size", draw(r, 1, 40));
    if (chance(r, 30)) add_float(n, "softcap", 2);
    if (chance(r, 30)) add_int(n, "smooth_softmax", 1);
}

static void add_onnx_mask(random_node *n, random_source *r, const int64_t dims[4]) {
    const int32_t skipped = (int32_t)draw(r, 0, 3);
    int64_t own[4];
    for (int32_t i = 0; i < 4; i++) own[i] = chance(r, 60) ? dims[i] : 1;
    own[3] = chance(r, 80) ? dims[3] : draw(r, 1, dims[3]);
    if (chance(r, 50)) {
        add_tensor(n, r, 4 - skipped, own + skipped);
        const tort_tensor *mask = &n->inputs[n->input_count - 1];
        for (int64_t i = 0; i < tort_count(mask); i++)
            if (chance(r, 20)) ((float *)mask->data)[i] = -INFINITY;
        return;
    }
    const int percent = chance(r, 20) ? 0 : 70;
    const tort_tensor *mask = add_buffer(n, TORT_BOOL, 4 - skipped, own + skipped);
    for (int64_t i = 0; i < tort_count(mask); i++) ((bool *)mask->data)[i] = chance(r, percent);
}

static void add_valid_keys(random_node *n, random_source *r, int64_t batch, int64_t keys) {
    const tort_tensor *valid = add_buffer(n, TORT_INT64, 1, &batch);
    for (int64_t b = 0; b < batch; b++) ((int64_t *)valid->data)[b] = draw(r, 0, keys);
}

/* Operands of rank 3 or 4, with a past, a mask and what hides keys beside it. */
void make_onnx_attention(random_node *n, random_source *r) {
    const int64_t key_heads = draw(r, 1, 2), heads = key_heads * draw(r, 1, 6), batch = draw(r, 1, 2);
    const int64_t length = pick(r, lengths, 6), fresh = chance(r, 50) ? length : pick(r, lengths, 6);
    const int64_t past = chance(r, 40) ? draw(r, 1, 60) : 0, size = pick(r, sizes, 4), width = pick(r, sizes, 4);
    const int64_t keys = past + fresh, counts[3] = {heads, key_heads, key_heads}, sizes_of[3] = {size, size, width};
    const bool packed = chance(r, 50);
    for (int32_t i = 0; i < 3; i++) {
        const int64_t positions = i ? fresh : length;
        if (packed)
            add_tensor(n, r, 3, (const int64_t[]){batch, positions, counts[i] * sizes_of[i]});
        else
            add_tensor(n, r, 4, (const int64_t[]){batch, counts[i], positions, sizes_of[i]});
    }
    if (chance(r, 50))
        add_onnx_mask(n, r, (const int64_t[]){batch, heads, length, keys});
    else
        skip(n);
    for (int32_t i = 1; i < 3; i++) {
        if (past)
            add_tensor(n, r, 4, (const int64_t[]){batch, key_heads, past, sizes_of[i]});
        else
            skip(n);
    }
    if (!past && chance(r, 30)) add_valid_keys(n, r, batch, keys);
    add_int(n, "q_num_heads", heads);
    add_int(n, "kv_num_heads", key_heads);
    add_int(n, "is_causal", draw(r, 0, 1));
    if (chance(r, 30)) add_float(n, "softcap", 2);
    if (chance(r, 30)) add_int(n, "left_window_size", draw(r, -1, 50));
    if (chance(r, 30)) add_int(n, "right_window_size", draw(r, -1, 50));
    n->opset = 25;
    n->tolerance = 1e-4f;
}

/* Numbers from 0 to rank-1 in any order, the first `count` of them. */
static void shuffle(random_source *r, int64_t *list, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        const int64_t other = draw(r, 0, i);
        list[i] = list[other];
        list[other] = i;
    }
}

/* A tensor that its perm, if it gets one, makes one of these dims. */
static void add_transposed(random_node *n, random_source *r, const char *perm_name, int32_t rank, const int64_t *dims) {
    int64_t own[4], *perm;
    if (chance(r, 40)) {
        add_tensor(n, r, rank, dims);
        return;
    }
    perm = add_list(n, perm_name, rank);
    shuffle(r, perm, rank);
    for (int32_t i = 0; i < rank; i++) own[perm[i]] = dims[i];
    add_tensor(n, r, rank, own);
}

/* What is added to scores of the last `rank` of these dims, or hides them: some of its dims are 1. */
static void add_mask(random_node *n, random_source *r, bool hides, const int64_t dims[4], int32_t rank) {
    int64_t own[4];
    const int32_t skipped = (int32_t)draw(r, 0, rank);
    for (int32_t i = 0; i < rank; i++) own[i] = chance(r, 60) ? dims[4 - rank + i] : 1;
    if (!hides) {
        add_tensor(n, r, rank - skipped, own + skipped);
        const tort_tensor *mask = &n->inputs[n->input_count - 1];
        if (chance(r, 30)) ((float *)mask->data)[draw(r, 0, tort_count(mask) - 1)] = -INFINITY;
        return;
    }
    const tort_tensor *keep = add_buffer(n, TORT_BOOL, rank - skipped, own + skipped);
    for (int64_t i = 0; i < tort_count(keep); i++) ((bool *)keep->data)[i] = chance(r, 70);
}

/* y_perm leaves the last axis where it is. */
void make_attention(random_node *n, random_source *r) {
    const int32_t rank = (int32_t)draw(r, 2, 4), first = 4 - rank;
    const int64_t queries = chance(r, 20) ? 1 : draw(r, 2, 40), keys = chance(r, 10) ? 3000 : draw(r, 1, 70);
    const int64_t size = draw(r, 1, 40), width = draw(r, 1, 40), outer = draw(r, 1, 3), inner = draw(r, 1, 3);
    const int64_t q[4] = {outer, inner, queries, size}, k[4] = {outer, inner, size, keys};
    const int64_t v[4] = {outer, inner, keys, width}, scores[4] = {outer, inner, queries, keys};
    add_transposed(n, r, "q_perm", rank, q + first);
    add_transposed(n, r, "k_perm", rank, k + first);
    add_transposed(n, r, "v_perm", rank, v + first);
    if (rank > 2 && chance(r, 50)) {
        int64_t *perm = add_list(n, "y_perm", rank);
        shuffle(r, perm, rank - 1);
        perm[rank - 1] = rank - 1;
    }
    if (chance(r, 60)) add_float(n, "scale", (float)draw(r, -4, 8) / 8);
    if (chance(r, 30)) add_int(n, "nan_to_zero", 1);
    const bool hides = chance(r, 40);
    if (chance(r, 60))
        add_mask(n, r, false, scores, rank);
    else if (hides)
        n->inputs[n->input_count++] = (tort_tensor){.type = TORT_UNDEFINED};
    if (hides) {
        add_mask(n, r, true, scores, rank);
        add_float(n, "fill", chance(r, 50) ? -INFINITY : -3.0f);
        add_int(n, "keep_where", draw(r, 0, 1));
    }
    n->opset = 1;
    n->tolerance = 2e-5f;
}
