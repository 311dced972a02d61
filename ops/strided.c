/* strided.c - see strided.h. The plain loops of data movement; read next: transpose.c, a small user. */
#include "ops/strided.h"

#include "ops/numeric.h"

#include <string.h>

enum {
    TILE = 16,    /* side of a transposed block: 16 * 16 elements of 16 bytes fit a first-level cache */
    SHORT_ROW = 8 /* shorter rows are not worth a call each */
};

void tort_box_add(tort_box *box, int64_t dim, int64_t dst_stride, int64_t src_stride) {
    box->dims[box->rank] = dim;
    box->dst_strides[box->rank] = dst_stride;
    box->src_strides[box->rank] = src_stride;
    box->rank++;
}

/* ---- one row ------------------------------------------------------------------------------------------------ */

/* Copy functions for one element size: a row with any strides, and a square of TILE rows that are columns of the input.
 * Pointers are to the first element; strides are in elements. */
typedef struct element_mover {
    void (*row)(void *dst, int64_t dst_stride, const void *src, int64_t src_stride, int64_t count);
    void (*tile)(void *dst, int64_t dst_row, const void *src, int64_t src_column);
} element_mover;

#define MOVER(T)                                                                                                       \
    static void row_##T(void *dst, int64_t dst_stride, const void *src, int64_t src_stride, int64_t count) {           \
        T *restrict to = dst;                                                                                          \
        const T *restrict from = src;                                                                                  \
        if (dst_stride == 1 && src_stride == 0) {                                                                      \
            const T value = *from;                                                                                     \
            for (int64_t i = 0; i < count; i++) to[i] = value;                                                         \
        } else if (dst_stride == 1) {                                                                                  \
            for (int64_t i = 0; i < count; i++) to[i] = from[i * src_stride];                                          \
        } else {                                                                                                       \
            for (int64_t i = 0; i < count; i++) to[i * dst_stride] = from[i * src_stride];                             \
        }                                                                                                              \
    }                                                                                                                  \
    static void tile_##T(void *dst, int64_t dst_row, const void *src, int64_t src_column) {                            \
        T *restrict to = dst;                                                                                          \
        const T *restrict from = src;                                                                                  \
        for (int64_t y = 0; y < TILE; y++) {                                                                           \
            for (int64_t x = 0; x < TILE; x++) to[y * dst_row + x] = from[x * src_column + y];                         \
        }                                                                                                              \
    }
MOVER(uint8_t)
MOVER(uint16_t)
MOVER(uint32_t)
MOVER(uint64_t)
MOVER(tort_bytes16)

/* Copy functions of a type; NULL for packed types. */
static const element_mover *find_mover(tort_type type) {
    static const element_mover movers[] = {{row_uint8_t, tile_uint8_t},
                                           {row_uint16_t, tile_uint16_t},
                                           {row_uint32_t, tile_uint32_t},
                                           {row_uint64_t, tile_uint64_t},
                                           {row_tort_bytes16, tile_tort_bytes16}};
    int bits = tort_type_bits(type);
    for (int k = 0; k < 5; k++) {
        if (bits == 8 << k) return &movers[k];
    }
    return NULL;
}

static void copy_row(tort_type type, void *dst, int64_t dst_first, int64_t dst_stride, const void *src,
                     int64_t src_first, int64_t src_stride, int64_t count) {
    const element_mover *mover = find_mover(type);
    int64_t bytes = tort_type_bits(type) / 8;
    if (count == 1 || (dst_stride == 1 && src_stride == 1)) {
        tort_copy_elements(type, dst, dst_first, src, src_first, count);
    } else if (mover) {
        mover->row((char *)dst + dst_first * bytes, dst_stride, (const char *)src + src_first * bytes, src_stride,
                   count);
    } else {
        for (int64_t i = 0; i < count; i++) {
            tort_copy_elements(type, dst, dst_first + i * dst_stride, src, src_first + i * src_stride, 1);
        }
    }
}

bool tort_copy_run(struct tort_watch *watch, int64_t *done, tort_type type, void *dst, int64_t dst_first,
                   const void *src, int64_t src_first, int64_t count) {
    for (int64_t at = 0; at < count; at += TORT_PART) {
        const int64_t part = tort_part_count(count, at);
        if (!tort_work_goes_on(watch, done, 16 + part)) return false;
        tort_copy_elements(type, dst, dst_first + at, src, src_first + at, part);
    }
    return true;
}

void tort_fill_elements(tort_type type, void *dst, int64_t first, int64_t count, const void *src, int64_t index) {
    if (count > 0) copy_row(type, dst, first, 1, src, index, 0, count);
}

/* ---- the box ------------------------------------------------------------------------------------------------ */

/* Drops dims of one element and merges neighbours that are one dim in both layouts. False: the box is empty. */
bool tort_box_simplify(const tort_box *box, tort_box *out) {
    *out = (tort_box){.dst_first = box->dst_first, .src_first = box->src_first};
    for (int32_t k = 0; k < box->rank; k++) {
        if (box->dims[k] == 0) return false;
        if (box->dims[k] == 1) continue;
        int32_t last = out->rank - 1;
        if (last >= 0 && out->dst_strides[last] == box->dst_strides[k] * box->dims[k] &&
            out->src_strides[last] == box->src_strides[k] * box->dims[k]) {
            out->dims[last] *= box->dims[k];
            out->dst_strides[last] = box->dst_strides[k];
            out->src_strides[last] = box->src_strides[k];
        } else {
            tort_box_add(out, box->dims[k], box->dst_strides[k], box->src_strides[k]);
        }
    }
    if (out->rank == 0) tort_box_add(out, 1, 1, 1);
    return true;
}

/* Moves dimension `from` inwards to position `to`: a copy does not depend on the order of the dims. */
static void move_dim(tort_box *box, int32_t from, int32_t to) {
    int64_t dim = box->dims[from], dst_stride = box->dst_strides[from], src_stride = box->src_strides[from];
    for (int32_t k = from; k < to; k++) {
        box->dims[k] = box->dims[k + 1];
        box->dst_strides[k] = box->dst_strides[k + 1];
        box->src_strides[k] = box->src_strides[k + 1];
    }
    box->dims[to] = dim;
    box->dst_strides[to] = dst_stride;
    box->src_strides[to] = src_stride;
}

static int64_t distance(const tort_box *box, int32_t k) {
    int64_t dst = box->dst_strides[k], src = box->src_strides[k];
    return (dst < 0 ? -dst : dst) + (src < 0 ? -src : src);
}

/* Dimension to walk along if the last one is short: among the long ones that with the nearest neighbours. */
static int32_t best_row(const tort_box *box) {
    int32_t best = box->rank - 1;
    for (int32_t k = best - 1; k >= 0; k--) {
        bool both_long = box->dims[k] >= SHORT_ROW && box->dims[best] >= SHORT_ROW;
        if (both_long ? distance(box, k) < distance(box, best) : box->dims[k] > box->dims[best]) best = k;
    }
    return best;
}

/* Chooses the order of the loops; returns the number of dims that the innermost item covers (see copy_job). */
static int32_t order_loops(tort_box *box) {
    int32_t last = box->rank - 1;
    if (box->dims[last] < SHORT_ROW) {
        move_dim(box, best_row(box), last);
        return 1;
    }
    if (box->src_strides[last] == 0 || box->src_strides[last] == 1) return 1;
    for (int32_t k = 0; k < last; k++) {
        if (box->src_strides[k] == 1 && box->dims[k] >= SHORT_ROW) {
            move_dim(box, k, last - 1);
            return 2;
        }
    }
    return 1;
}

typedef struct copy_job {
    const tort_call *call;
    tort_type type;
    void *dst;
    const void *src;
    const tort_box *box;
    int32_t inner; /* dims that one item covers: 1 a row, 2 a plane that is transposed by blocks */
} copy_job;

static void copy_plane(const copy_job *job, int64_t dst_first, int64_t src_first) {
    const tort_box *box = job->box;
    const element_mover *mover = find_mover(job->type);
    int32_t y = box->rank - 2, x = box->rank - 1;
    int64_t bytes = tort_type_bits(job->type) / 8, dst_y = box->dst_strides[y], src_y = box->src_strides[y];
    int64_t dst_x = box->dst_strides[x], src_x = box->src_strides[x], done = 0;
    for (int64_t top = 0; top < box->dims[y]; top += TILE) {
        int64_t bottom = top + TILE < box->dims[y] ? top + TILE : box->dims[y];
        for (int64_t left = 0; left < box->dims[x]; left += TILE) {
            if (!tort_row_goes_on(job->call->watch, done += TILE * TILE)) return;
            int64_t width = left + TILE < box->dims[x] ? TILE : box->dims[x] - left;
            int64_t dst = dst_first + top * dst_y + left * dst_x, src = src_first + top * src_y + left * src_x;
            if (mover && dst_x == 1 && src_y == 1 && bottom - top == TILE && width == TILE) {
                mover->tile((char *)job->dst + dst * bytes, dst_y, (const char *)job->src + src * bytes, src_x);
                continue;
            }
            for (int64_t row = 0; row < bottom - top; row++) {
                copy_row(job->type, job->dst, dst + row * dst_y, dst_x, job->src, src + row * src_y, src_x, width);
            }
        }
    }
}

/* Returns the bytes of a row that is contiguous in both layouts and too short for a call of memmove; 0: it is not. */
static size_t short_bytes(const copy_job *job) {
    const int32_t last = job->box->rank - 1, bits = tort_type_bits(job->type);
    const int64_t bytes = job->box->dims[last] < 256 ? job->box->dims[last] * bits / 8 : 0;
    const bool contiguous = job->box->dst_strides[last] == 1 && job->box->src_strides[last] == 1;
    return job->inner == 1 && bits >= 8 && contiguous && bytes >= 16 && bytes <= 128 ? (size_t)bytes : 0;
}

/* In moves of 16 bytes, of which the last may overlap the one before it; bytes >= 16. */
static inline void copy_short(char *to, const char *from, size_t bytes) {
    for (size_t at = 0; at + 16 < bytes; at += 16) memcpy(to + at, from + at, 16);
    memcpy(to + bytes - 16, from + bytes - 16, 16);
}

/* Copies items begin .. end-1 of the outer dims, in row-major order. */
static void copy_items(void *arg, int64_t begin, int64_t end) {
    const copy_job *job = arg;
    const tort_box *box = job->box;
    int32_t outer = box->rank - job->inner, last = box->rank - 1;
    int64_t index[TORT_BOX_RANK], dst = box->dst_first, src = box->src_first, rest = begin;
    for (int32_t k = outer - 1; k >= 0; k--) {
        index[k] = rest % box->dims[k];
        rest /= box->dims[k];
        dst += index[k] * box->dst_strides[k];
        src += index[k] * box->src_strides[k];
    }
    const size_t bytes = short_bytes(job), size = (size_t)tort_type_bits(job->type) / 8;
    for (int64_t item = begin; item < end; item++) {
        if (bytes) {
            copy_short((char *)job->dst + (size_t)dst * size, (const char *)job->src + (size_t)src * size, bytes);
        } else if (job->inner == 2) {
            copy_plane(job, dst, src);
        } else {
            copy_row(job->type, job->dst, dst, box->dst_strides[last], job->src, src, box->src_strides[last],
                     box->dims[last]);
        }
        for (int32_t k = outer - 1; k >= 0; k--) {
            dst += box->dst_strides[k];
            src += box->src_strides[k];
            if (++index[k] < box->dims[k]) break;
            dst -= index[k] * box->dst_strides[k];
            src -= index[k] * box->src_strides[k];
            index[k] = 0;
        }
    }
}

/* Divides a long last dim in two, so that threads share it and a run may end in it; the elements behind the last whole
 * part are left to a box of their own. */
static void divide_row(tort_box *box, tort_box *rest) {
    const int32_t last = box->rank - 1;
    const int64_t parts = box->dims[last] / TORT_PART, dst = box->dst_strides[last], src = box->src_strides[last];
    *rest = *box;
    rest->dims[last] -= parts * TORT_PART;
    rest->dst_first += parts * TORT_PART * dst;
    rest->src_first += parts * TORT_PART * src;
    box->dims[last] = parts;
    box->dst_strides[last] = TORT_PART * dst;
    box->src_strides[last] = TORT_PART * src;
    tort_box_add(box, TORT_PART, dst, src);
}

tort_status tort_copy_box(const tort_call *call, tort_type type, void *dst, const void *src, const tort_box *given) {
    tort_box box, rest;
    if (!tort_box_simplify(given, &box)) return TORT_OK;
    tort_call alone = *call;
    copy_job job = {call, type, dst, src, &box, order_loops(&box)};
    if (job.inner == 1 && box.dims[box.rank - 1] > TORT_PART && box.rank < TORT_BOX_RANK) {
        divide_row(&box, &rest);
        tort_copy_box(call, type, dst, src, &rest);
    }
    int32_t last = box.rank - 1;
    int64_t items = 1, item_elements = box.dims[last];
    if (job.inner == 2) item_elements *= box.dims[last - 1];
    for (int32_t k = 0; k < box.rank - job.inner; k++) items *= box.dims[k];
    if (tort_type_bits(type) < 8) alone.env = NULL; /* two threads must not write to one byte */
    tort_parallel(&alone, items, 10 + item_elements / 4, copy_items, &job);
    return TORT_OK;
}

void tort_fill_tensor(const tort_call *call, const tort_tensor *to, const void *from, int64_t stride) {
    tort_box box = {0};
    tort_box_add(&box, tort_count(to), 1, stride);
    tort_copy_box(call, to->type, to->data, from, &box);
}
