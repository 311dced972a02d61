/* topk.c - TopK of float: a heap of the k best behind a scan, or a radix sort of all elements if k is large.
 *
 * An element and its index are one 64-bit number whose order is the wanted one. The scan compares blocks with the
 * worst of the heap, by vectors, and skips those that cannot enter: it costs n comparisons and, for random data,
 * about k * ln(n / k) insertions of log k each; the sort costs 4 passes over n. Read next: ops/topk.h. */
#include "ops/topk.h"
#include "kernels/cpu/pieces.h"
#include "runtime/core/base/memory.h"

#include <string.h>

#define STRETCH 16384 /* elements between two questions whether the run goes on */
#define BLOCK 64      /* elements that are skipped at a time */
#define SORTED_PART 8 /* if k exceeds this part of the elements, all are sorted */

static tort_verdict claim_topk(const tort_target *target, const tort_node_view *node) {
    const tort_topk_params *p = node->params;
    if (p->length > UINT32_MAX) return tort_no(TORT_NO_SHAPE, "", "is for at most 2^32 elements along the axis");
    return tort_cpu_claim_float(target, node);
}

/* Computes the bytes of a thread's buffer: two numbers per element. */
static bool part_bytes(const tort_topk_params *p, size_t *bytes) {
    return tort_mul_size((uint64_t)p->length, 2 * sizeof(uint64_t), bytes) &&
           tort_align_size(*bytes, TORT_HOST_ALIGN, bytes);
}

static tort_status size_topk(const tort_target *target, const tort_node_view *node, size_t *scratch,
                             tort_error *error) {
    size_t bytes;
    if (part_bytes(node->params, &bytes) && tort_mul_size(bytes, (uint64_t)target->threads, scratch)) return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* Returns a number that is greater for a better element; of equal elements, the lower index is better. -0 equals 0,
 * NaN is above infinity. */
static inline uint64_t number_of(float x, int64_t index, uint32_t invert) {
    uint32_t bits;
    x += 0.0f; /* -0 becomes 0 */
    memcpy(&bits, &x, sizeof bits);
    bits = bits >> 31 ? ~bits : bits | (uint32_t)1 << 31;
    if (x != x) bits = UINT32_MAX;
    return (uint64_t)(bits ^ invert) << 32 | (UINT32_MAX - (uint32_t)index);
}

static int64_t index_of(uint64_t number) {
    return UINT32_MAX - (uint32_t)number;
}

/* ---- few of many ------------------------------------------------------------------------------------------------- */

/* Sifts the number at `at` down in a heap whose root is the worst. */
static void sink(uint64_t *heap, int64_t count, int64_t at) {
    const uint64_t number = heap[at];
    for (;;) {
        int64_t child = 2 * at + 1;
        if (child >= count) break;
        if (child + 1 < count && heap[child + 1] < heap[child]) child++;
        if (heap[child] >= number) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = number;
}

/* True if any of BLOCK elements may be better than `value`. */
static bool may_enter(const float *x, float value, bool largest) {
    int32_t any = 0;
    if (largest)
        for (int32_t i = 0; i < BLOCK; i++) any |= !(x[i] <= value);
    else
        for (int32_t i = 0; i < BLOCK; i++) any |= !(x[i] >= value);
    return any != 0;
}

/* False: the run has ended, and not all elements were asked. */
static bool select_few(const tort_call *call, const float *x, uint64_t *heap) {
    const tort_topk_params *p = call->params;
    const uint32_t invert = p->largest ? 0 : UINT32_MAX;
    const int64_t k = p->k, step = p->inner, sink_work = tort_work(16, 64, 1);
    for (int64_t i = 0; i < k; i++) heap[i] = number_of(x[i * step], i, invert);
    for (int64_t at = k / 2 - 1; at >= 0; at--) {
        if (!tort_piece_goes_on(call, at, sink_work)) return false;
        sink(heap, k, at);
    }
    for (int64_t i = k, asked = k; i < p->length; i++) {
        while (step == 1 && i + BLOCK <= p->length && !may_enter(x + i, x[index_of(heap[0])], p->largest)) i += BLOCK;
        if (i - asked > STRETCH) {
            if (!tort_call_goes_on(call, 0)) return false;
            asked = i;
        }
        for (const int64_t end = i + BLOCK; i < p->length; i++) {
            const uint64_t number = number_of(x[i * step], i, invert);
            if (number > heap[0]) {
                heap[0] = number;
                sink(heap, k, 0);
            }
            if (i + 1 == end) break;
        }
    }
    for (int64_t left = k - 1; left > 0; left--) {
        if (!tort_piece_goes_on(call, left, sink_work)) return false;
        const uint64_t worst = heap[0];
        heap[0] = heap[left];
        heap[left] = worst;
        sink(heap, left, 0);
    }
    return true;
}

/* ---- all sorted -------------------------------------------------------------------------------------------------- */

/* Sorts by the 8 bits from `shift` on, best first; stable. False: the run has ended, and `to` is incomplete. */
static bool sort_pass(const tort_call *call, const uint64_t *from, uint64_t *to, int64_t count, int32_t shift) {
    int64_t starts[256] = {0}, at = 0;
    for (int64_t first = 0, last; first < count; first = last) {
        if (first > 0 && !tort_call_goes_on(call, 0)) return false;
        last = tort_min(count, first + STRETCH);
        for (int64_t i = first; i < last; i++) starts[255 - (from[i] >> shift & 255)]++;
    }
    for (int32_t digit = 0; digit < 256; digit++) {
        const int64_t next = at + starts[digit];
        starts[digit] = at;
        at = next;
    }
    for (int64_t first = 0, last; first < count; first = last) {
        if (first > 0 && !tort_call_goes_on(call, 0)) return false;
        last = tort_min(count, first + STRETCH);
        for (int64_t i = first; i < last; i++) to[starts[255 - (from[i] >> shift & 255)]++] = from[i];
    }
    return true;
}

/* False: the run has ended, and the numbers are not sorted. */
static bool sort_all(const tort_call *call, const float *x, uint64_t *numbers, uint64_t *others) {
    const tort_topk_params *p = call->params;
    const uint32_t invert = p->largest ? 0 : UINT32_MAX;
    for (int64_t first = 0, last; first < p->length; first = last) {
        if (first > 0 && !tort_call_goes_on(call, 0)) return false;
        last = tort_min(p->length, first + STRETCH);
        for (int64_t i = first; i < last; i++) numbers[i] = number_of(x[i * p->inner], i, invert);
    }
    for (int32_t shift = 32; shift < 64; shift += 16)
        if (!sort_pass(call, numbers, others, p->length, shift) ||
            !sort_pass(call, others, numbers, p->length, shift + 8))
            return false;
    return true;
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

typedef struct topk_job {
    const tort_call *call;
    const tort_topk_params *p;
    const float *x;
    float *values;    /* NULL: not wanted */
    int64_t *indices; /* NULL: not wanted */
    char *scratch;
    size_t part_bytes;
    int32_t parts;
} topk_job;

static void put_lane(const topk_job *job, int64_t lane, const float *x, const uint64_t *numbers) {
    const tort_topk_params *p = job->p;
    const int64_t to = lane / p->inner * p->k * p->inner + lane % p->inner;
    const int64_t work = tort_work(16, 8, 1);
    for (int64_t i = 0; i < p->k && tort_piece_goes_on(job->call, i, work); i++) {
        const int64_t index = index_of(numbers[i]);
        if (job->values) job->values[to + i * p->inner] = x[index * p->inner];
        if (job->indices) job->indices[to + i * p->inner] = index;
    }
}

static void select_parts(void *arg, int64_t begin, int64_t end) {
    const topk_job *job = arg;
    const tort_topk_params *p = job->p;
    const int64_t work = tort_work(p->length, 16, 2);
    for (int64_t part = begin; part < end; part++) {
        uint64_t *numbers = (uint64_t *)(void *)(job->scratch + (size_t)part * job->part_bytes);
        int64_t first, last;
        tort_cpu_share(p->outer * p->inner, 1, part, job->parts, &first, &last);
        for (int64_t lane = first; lane < last && tort_piece_goes_on(job->call, lane, work); lane++) {
            const float *x = job->x + lane / p->inner * p->length * p->inner + lane % p->inner;
            const bool all = p->k > p->length / SORTED_PART && p->k > BLOCK;
            if (all ? !sort_all(job->call, x, numbers, numbers + p->length) : !select_few(job->call, x, numbers))
                return;
            put_lane(job, lane, x, numbers);
        }
    }
}

static tort_status run_topk(const tort_call *call) {
    const tort_topk_params *p = call->params;
    const tort_cpu_device *device = call->device;
    const tort_tensor *values = tort_call_output(call, 0), *indices = tort_call_output(call, 1);
    topk_job job = {.call = call,
                    .p = p,
                    .x = call->inputs[0].data,
                    .values = values ? values->data : NULL,
                    .indices = indices ? indices->data : NULL,
                    .scratch = call->scratch};
    if (p->outer * p->inner == 0 || p->k == 0) return TORT_OK;
    if (p->length > UINT32_MAX)
        return tort_fail(call->error, TORT_E_UNSUPPORTED, "%lld elements along the axis; at most 2^32 are supported",
                         (long long)p->length);
    if (!part_bytes(p, &job.part_bytes)) return tort_out_of_memory(call->error, SIZE_MAX);
    const int64_t elements = p->outer * p->inner * p->length;
    job.parts = elements < 16 * 1024 ? 1 : device->threads; /* done before another thread would have started */
    tort_cpu_parts(call, job.parts, select_parts, &job);
    return TORT_OK;
}

const tort_kernel tort_cpu_topk[] = {
    {"", "TopK", "topk_lanes", .claim = claim_topk, .size = size_topk, .run = run_topk},
    {.op = NULL},
};
