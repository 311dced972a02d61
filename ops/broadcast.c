/* broadcast.c - the loop over broadcast tensors. */
#include "ops/broadcast.h"

void tort_loop_begin(tort_loop *loop, int32_t rank, const int64_t *dims) {
    *loop = (tort_loop){.rank = rank, .count = 1};
    for (int32_t d = 0; d < rank; d++) {
        loop->dims[d] = dims[d];
        loop->count *= dims[d];
    }
}

void tort_loop_operand(tort_loop *loop, const int64_t *strides) {
    for (int32_t d = 0; d < loop->rank; d++) loop->strides[loop->operands][d] = strides[d];
    loop->operands++;
}

/* True if dimension `d` can merge into the inner dimension `to`: for every operand, a step along d equals a walk over
 * all of `to`. */
static bool continues(const tort_loop *loop, int32_t d, int32_t to) {
    for (int32_t k = 0; k < loop->operands; k++) {
        if (loop->strides[k][d] != loop->strides[k][to] * loop->dims[to]) return false;
    }
    return true;
}

static void move_dimension(tort_loop *loop, int32_t from, int32_t to) {
    loop->dims[to] = loop->dims[from];
    for (int32_t k = 0; k < loop->operands; k++) loop->strides[k][to] = loop->strides[k][from];
}

void tort_loop_ready(tort_loop *loop) {
    int32_t last = TORT_LOOP_RANK; /* merged dimensions collect at the end of the arrays, then move to the front */
    for (int32_t d = loop->rank - 1; d >= 0; d--) {
        if (loop->dims[d] == 1) continue;
        if (last < TORT_LOOP_RANK && continues(loop, d, last)) {
            loop->dims[last] *= loop->dims[d];
        } else {
            move_dimension(loop, d, --last);
        }
    }
    loop->rank = TORT_LOOP_RANK - last;
    for (int32_t d = 0; d < loop->rank; d++) move_dimension(loop, last + d, d);
    if (loop->rank == 0) {
        loop->rank = 1;
        loop->dims[0] = 1;
        for (int32_t k = 0; k < loop->operands; k++) loop->strides[k][0] = 0;
    }
    for (int32_t k = 0; k < loop->operands; k++) loop->steps[k] = loop->strides[k][loop->rank - 1];
}

tort_loop tort_loop_broadcast(const tort_tensor *out, const tort_tensor *inputs, int32_t count) {
    tort_loop loop;
    tort_loop_begin(&loop, out->rank, out->dims);
    for (int32_t k = 0; k < count; k++) {
        int64_t strides[TORT_MAX_RANK];
        tort_broadcast_strides(inputs[k].rank, inputs[k].dims, out->rank, out->dims, strides);
        tort_loop_operand(&loop, strides);
    }
    tort_loop_ready(&loop);
    return loop;
}

/* Advances to the next row: counts up from the second innermost dimension, with carry. */
static void next_row(const tort_loop *loop, int64_t *index, int64_t *offsets) {
    for (int32_t d = loop->rank - 2; d >= 0; d--) {
        index[d]++;
        for (int32_t k = 0; k < loop->operands; k++) offsets[k] += loop->strides[k][d];
        if (index[d] < loop->dims[d]) return;
        index[d] = 0;
        for (int32_t k = 0; k < loop->operands; k++) offsets[k] -= loop->strides[k][d] * loop->dims[d];
    }
}

void tort_loop_run(const tort_loop *loop, int64_t begin, int64_t end, tort_row row, void *arg) {
    if (begin >= end) return;
    const int64_t width = loop->dims[loop->rank - 1];
    int64_t index[TORT_LOOP_RANK], starts[TORT_LOOP_OPERANDS] = {0}, within = begin % width, rest = begin / width;
    for (int32_t d = loop->rank - 2; d >= 0; d--) {
        index[d] = rest % loop->dims[d];
        rest /= loop->dims[d];
        for (int32_t k = 0; k < loop->operands; k++) starts[k] += index[d] * loop->strides[k][d];
    }
    while (begin < end) {
        int64_t offsets[TORT_LOOP_OPERANDS], count = width - within < end - begin ? width - within : end - begin;
        for (int32_t k = 0; k < loop->operands; k++) offsets[k] = starts[k] + within * loop->steps[k];
        row(arg, loop, begin, count, offsets);
        begin += count;
        within = 0;
        next_row(loop, index, starts);
    }
}

bool tort_loop_short(const tort_loop *loop) {
    return loop->rank > 1 && loop->dims[loop->rank - 1] < 32;
}

/* Advances `index` to the next row and returns how far operand k moves, in elements. */
static inline int64_t row_distance(const tort_loop *loop, int32_t k, int64_t *index) {
    int64_t distance = 0;
    for (int32_t d = loop->rank - 2; d >= 0; d--) {
        distance += loop->strides[k][d];
        if (++index[d] < loop->dims[d]) break;
        index[d] = 0;
        distance -= loop->strides[k][d] * loop->dims[d];
    }
    return distance;
}

/* Copies `count` elements of operand k to `to`, beginning at element `within` of row `index`, which starts at
 * `from`. */
#define GATHER(ctype, name)                                                                                            \
    static void gather_##name(const tort_loop *loop, int32_t k, int64_t *index, int64_t within, int64_t count,         \
                              const ctype *from, ctype *to) {                                                          \
        const int64_t step = loop->steps[k], width = loop->dims[loop->rank - 1];                                       \
        while (count > 0) {                                                                                            \
            int64_t n = width - within < count ? width - within : count;                                               \
            for (int64_t i = 0; i < n; i++) to[i] = from[(within + i) * step];                                         \
            to += n, count -= n, within = 0;                                                                           \
            if (count > 0) from += row_distance(loop, k, index);                                                       \
        }                                                                                                              \
    }
GATHER(uint8_t, bytes1)
GATHER(uint16_t, bytes2)
GATHER(uint32_t, bytes4)
GATHER(uint64_t, bytes8)
GATHER(tort_bytes16, bytes16)

void tort_loop_gather(const tort_loop *loop, int32_t k, int64_t first, int64_t count, size_t size, const void *data,
                      void *out) {
    int64_t index[TORT_LOOP_RANK], start = 0, rest = first, within = 0;
    for (int32_t d = loop->rank - 1; d >= 0; d--) {
        index[d] = rest % loop->dims[d];
        rest /= loop->dims[d];
        if (d == loop->rank - 1) {
            within = index[d];
        } else {
            start += index[d] * loop->strides[k][d];
        }
    }
    const char *from = (const char *)data + start * (int64_t)size;
    switch (size) {
    case 1: gather_bytes1(loop, k, index, within, count, (const void *)from, out); break;
    case 2: gather_bytes2(loop, k, index, within, count, (const void *)from, out); break;
    case 4: gather_bytes4(loop, k, index, within, count, (const void *)from, out); break;
    case 8: gather_bytes8(loop, k, index, within, count, (const void *)from, out); break;
    default: gather_bytes16(loop, k, index, within, count, (const void *)from, out); break;
    }
}

typedef struct parallel {
    const tort_loop *loop;
    tort_row row;
    tort_piece piece; /* NULL: by rows */
    void *arg;
} parallel;

/* Elements per piece: a multiple of 8, so that no two threads write to the same byte of a packed type. */
#define PIECE TORT_BLOCK

static void run_pieces(void *arg, int64_t begin, int64_t end) {
    const parallel *p = arg;
    int64_t last = end * PIECE < p->loop->count ? end * PIECE : p->loop->count;
    if (p->piece == NULL) {
        tort_loop_run(p->loop, begin * PIECE, last, p->row, p->arg);
        return;
    }
    for (int64_t at = begin * PIECE; at < last; at += PIECE) {
        p->piece(p->arg, p->loop, at, last - at < PIECE ? last - at : PIECE);
    }
}

static void run_parallel(const tort_call *call, int64_t work, parallel *p) {
    if (p->loop->count == 0) return;
    tort_parallel(call, (p->loop->count + PIECE - 1) / PIECE, work * (PIECE / 16), run_pieces, p);
}

void tort_loop_parallel(const tort_call *call, const tort_loop *loop, int64_t work, tort_row row, void *arg) {
    run_parallel(call, work, &(parallel){.loop = loop, .row = row, .arg = arg});
}

void tort_loop_pieces(const tort_call *call, const tort_loop *loop, int64_t work, tort_piece piece, void *arg) {
    run_parallel(call, work, &(parallel){.loop = loop, .piece = piece, .arg = arg});
}
