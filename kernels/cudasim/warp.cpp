/* warp.cpp - the computation of warp collectives and asynchronous copies, for all lanes at once.
 *
 * Fragment layouts are those of the PTX ISA (written out in kernels/cuda/gpu.h). Operands and results of a lane are
 * in its Lane. Accumulation is in float, in the order of k; the order of a GPU is unspecified, so tests compare with
 * a tolerance. block.cpp makes lanes wait for each other. Read next: shared.cpp. */
#include "kernels/cudasim/warp.h"

namespace cudasim {

namespace {

template <class F> void for_each_lane(unsigned mask, F act) {
    for (int i = 0; i < 32; i++)
        if (mask >> i & 1) act(i);
}

/* Adds the product of a (16 x depth) and b (depth x 8), both already gathered from the lanes, to the lanes' c. */
void multiply(Lane *const *lanes, const float (*a)[16], const float (*b)[8], int depth) {
    for (int lane = 0; lane < 32; lane++) {
        MmaInput input;
        memcpy(&input, lanes[lane]->input, sizeof input);
        float d[4];
        for (int i = 0; i < 4; i++) {
            const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
            d[i] = input.c[i];
            for (int k = 0; k < depth; k++) d[i] += a[row][k] * b[k][column];
        }
        memcpy(lanes[lane]->output, d, sizeof d);
    }
}

/* Each 32-bit register holds two neighbouring elements: of a row of a, or of a column of b. */
template <class T> void multiply_16_bit(Lane *const *lanes) {
    float a[16][16], b[16][8];
    for (int lane = 0; lane < 32; lane++) {
        MmaInput input;
        memcpy(&input, lanes[lane]->input, sizeof input);
        const int group = lane / 4, pair = lane % 4 * 2;
        for (int i = 0; i < 8; i++) {
            const uint16_t bits = (uint16_t)(input.a[i / 2] >> i % 2 * 16);
            a[group + i / 2 % 2 * 8][pair + i % 2 + i / 4 * 8] = (float)T::from_bits(bits);
        }
        for (int i = 0; i < 4; i++) {
            const uint16_t bits = (uint16_t)(input.b[i / 2] >> i % 2 * 16);
            b[pair + i % 2 + i / 2 * 8][group] = (float)T::from_bits(bits);
        }
    }
    multiply(lanes, a, b, 16);
}

/* Each 32-bit register holds four neighbouring bytes: of a row of a, whose type is A, or of a column of b. */
template <class A> void multiply_bytes(Lane *const *lanes) {
    int a[16][32], b[32][8];
    for (int lane = 0; lane < 32; lane++) {
        MmaInput input;
        memcpy(&input, lanes[lane]->input, sizeof input);
        const int group = lane / 4, k = lane % 4 * 4;
        for (int i = 0; i < 16; i++)
            a[group + i / 4 % 2 * 8][k + i % 4 + i / 8 * 16] = (A)(uint8_t)(input.a[i / 4] >> i % 4 * 8);
        for (int i = 0; i < 8; i++) b[k + i % 4 + i / 4 * 16][group] = (int8_t)(uint8_t)(input.b[i / 4] >> i % 4 * 8);
    }
    for (int lane = 0; lane < 32; lane++) {
        MmaInput input;
        uint32_t d[4]; /* sums wrap */
        memcpy(&input, lanes[lane]->input, sizeof input);
        memcpy(d, input.c, sizeof d);
        for (int i = 0; i < 4; i++)
            for (int k = 0; k < 32; k++) d[i] += (uint32_t)(a[lane / 4 + i / 2 * 8][k] * b[k][lane % 4 * 2 + i % 2]);
        memcpy(lanes[lane]->output, d, sizeof d);
    }
}

/* The tensor core reads only the upper 19 bits. */
float tfloat32(uint32_t bits) {
    return float_of_bits(bits & 0xffffe000u);
}

void load_matrices(Lane *const *lanes, int matrices, bool transposed) {
    const uint16_t *rows[32];
    for (int i = 0; i < 8 * matrices; i++) {
        memcpy(&rows[i], lanes[i]->input, sizeof rows[i]);
        if ((uintptr_t)rows[i] % 16)
            stop_kernel(cudaErrorMisalignedAddress, "ldmatrix: row address %p is not aligned to 16 bytes",
                        (const void *)rows[i]);
        note_access(lanes[i]->thread, rows[i], 16, Access::read, __builtin_return_address(0));
    }
    for (int lane = 0; lane < 32; lane++) {
        for (int m = 0; m < matrices; m++) {
            uint16_t pair[2];
            for (int i = 0; i < 2; i++) {
                const int row = lane / 4, column = lane % 4 * 2 + i;
                pair[i] = transposed ? rows[m * 8 + column][row] : rows[m * 8 + row][column];
            }
            memcpy(lanes[lane]->output + 4 * m, pair, sizeof pair);
        }
    }
}

} // namespace

void synchronize_warp(Lane *const *, unsigned) {}

/* The value from a lane outside the mask is undefined: poison. */
void shuffle(Lane *const *lanes, unsigned mask) {
    for_each_lane(mask, [&](int i) {
        ShuffleInput own, other;
        memcpy(&own, lanes[i]->input, sizeof own);
        const bool defined = own.source >= 0 && own.source < 32 && mask >> own.source & 1;
        if (defined)
            memcpy(&other, lanes[own.source]->input, sizeof other);
        else
            memset(&other, poison, sizeof other);
        memcpy(lanes[i]->output, &other.value, sizeof other.value);
    });
}

void ballot(Lane *const *lanes, unsigned mask) {
    unsigned votes = 0;
    for_each_lane(mask, [&](int i) {
        int predicate;
        memcpy(&predicate, lanes[i]->input, sizeof predicate);
        if (predicate) votes |= 1u << i;
    });
    for_each_lane(mask, [&](int i) { memcpy(lanes[i]->output, &votes, sizeof votes); });
}

void mma_m16n8k16_half(Lane *const *lanes, unsigned) {
    multiply_16_bit<__half>(lanes);
}

void mma_m16n8k16_bfloat16(Lane *const *lanes, unsigned) {
    multiply_16_bit<__nv_bfloat16>(lanes);
}

void mma_m16n8k8_tfloat32(Lane *const *lanes, unsigned) {
    float a[16][16], b[8][8];
    for (int lane = 0; lane < 32; lane++) {
        MmaInput input;
        memcpy(&input, lanes[lane]->input, sizeof input);
        const int group = lane / 4, k = lane % 4;
        for (int i = 0; i < 4; i++) a[group + i % 2 * 8][k + i / 2 * 4] = tfloat32(input.a[i]);
        for (int i = 0; i < 2; i++) b[k + i * 4][group] = tfloat32(input.b[i]);
    }
    multiply(lanes, a, b, 8);
}

void mma_m16n8k32_signed(Lane *const *lanes, unsigned) {
    multiply_bytes<int8_t>(lanes);
}

void mma_m16n8k32_unsigned(Lane *const *lanes, unsigned) {
    multiply_bytes<uint8_t>(lanes);
}

void load_matrix_x2(Lane *const *lanes, unsigned) {
    load_matrices(lanes, 2, false);
}
void load_matrix_x4(Lane *const *lanes, unsigned) {
    load_matrices(lanes, 4, false);
}
void load_matrix_x2_transposed(Lane *const *lanes, unsigned) {
    load_matrices(lanes, 2, true);
}
void load_matrix_x4_transposed(Lane *const *lanes, unsigned) {
    load_matrices(lanes, 4, true);
}

/* ---- cp.async, adversarially: the destination holds poison until the wait, which copies the data ---- */

void AsyncCopies::reset() {
    copies.clear();
    groups = 0;
}

void AsyncCopies::start(int thread, void *shared, const void *global, size_t size, size_t valid, Site site,
                        const void *code) {
    if (((uintptr_t)shared | (uintptr_t)global) % size)
        stop_kernel(cudaErrorMisalignedAddress, "cp.async (%s:%d): %p and %p are not both aligned to %zu bytes",
                    site.file, site.line, shared, global, size);
    if (valid > size || !shared_contains((uintptr_t)shared))
        stop_kernel(cudaErrorIllegalAddress, "cp.async (%s:%d): %zu valid bytes of %zu to %p", site.file, site.line,
                    valid, size, shared);
    if (valid) note_access(thread, global, valid, Access::read, code);
    note_access(thread, shared, size, Access::write, code);
    memset(shared, poison, size);
    copies.push_back({shared, global, size, valid, groups, code});
}

void AsyncCopies::commit() {
    groups++;
}

void AsyncCopies::wait(int thread, int groups_left) {
    size_t kept = 0;
    for (const Copy &copy : copies) {
        if (copy.group >= groups - groups_left) {
            copies[kept++] = copy;
            continue;
        }
        if (races_checked()) race_access(thread, copy.shared, copy.size, Access::write, copy.code);
        if (copy.valid) memcpy(copy.shared, copy.global, copy.valid);
        memset((char *)copy.shared + copy.valid, 0, copy.size - copy.valid);
    }
    copies.resize(kept);
}

bool AsyncCopies::pending() const {
    return !copies.empty();
}

} // namespace cudasim
