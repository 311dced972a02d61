/* race.cpp - the race checker, to which hooks.cpp reports each memory access of an instrumented kernel.
 *
 * A shadow cell for every byte records its last writer and reader and their times, in epochs that barriers advance.
 * Two accesses by different threads, at least one a write, are a race unless a barrier, a __syncwarp (same warp) or
 * the end of the launch lies between. Blocks of a grid are ordered only in this way: one block writes, passes
 * __threadfence and updates a counter atomically; another updates that counter later, passes __threadfence and
 * reads. Accesses outside live buffers, to host memory and at misaligned addresses are errors too. Read next:
 * traffic.cpp. */
#include "kernels/cudasim/sim.h"

#include <link.h>
#include <unordered_map>
#include <vector>

namespace cudasim {

namespace {

struct Cell {
    uint32_t write_epoch, read_epoch; /* 0: never */
    uint16_t writer, reader;          /* index of the thread in its block */
    uint16_t write_warp_epoch, read_warp_epoch;
    bool atomic_write;
    bool read_by_warps;   /* by threads of several warps in read_epoch */
    bool read_by_threads; /* by several threads of one warp in read_epoch and read_warp_epoch */
};

const uintptr_t cells_a_page = 4096;
std::unordered_map<uintptr_t, std::vector<Cell>> shadow;
uintptr_t last_page;
Cell *last_cells;

/* Epochs only grow: those from launch_start on belong to this launch, from block_start on to this block. */
uint32_t epoch = 1, launch_start = 1, block_start = 1;
uint16_t warp_epoch[max_block_threads / 32];

/* Epochs of a block before a fence, which its later atomic operations publish. */
struct Epochs {
    uint32_t first, last;
};
std::unordered_map<const void *, std::vector<Epochs>> published; /* by the counter's address, in this launch */
std::vector<Epochs> heard_of, acquired; /* by this block, from counters; acquired: those before its last fence */
uint32_t fence_epoch;                   /* this block's last fence; 0: none */

bool has_acquired(uint32_t then) {
    for (const Epochs &epochs : acquired)
        if (epochs.first <= then && then <= epochs.last) return true;
    return false;
}

Cell *cell_of(uintptr_t address) {
    const uintptr_t page = address / cells_a_page;
    if (page != last_page || !last_cells) {
        std::vector<Cell> &cells = shadow[page];
        if (cells.empty()) cells.resize(cells_a_page);
        last_cells = cells.data();
        last_page = page;
    }
    return last_cells + address % cells_a_page;
}

/* True if an access at epoch `then` by thread `other` is ordered before the current access of `thread`. */
bool ordered(uint32_t then, int other, uint16_t other_warp_epoch, int thread, bool in_shared) {
    if (then < launch_start) return true;
    if (then < block_start) return in_shared || has_acquired(then); /* shared memory belongs to the block */
    if (other == thread || then != epoch) return true;
    return other / 32 == thread / 32 && other_warp_epoch != warp_epoch[thread / 32];
}

bool written_unordered(const Cell *cell, int thread, bool in_shared, Access access) {
    if (!cell->write_epoch || (access == Access::atomic && cell->atomic_write)) return false;
    return !ordered(cell->write_epoch, cell->writer, cell->write_warp_epoch, thread, in_shared);
}

bool read_unordered(const Cell *cell, int thread, bool in_shared) {
    if (!cell->read_epoch) return false;
    if (!ordered(cell->read_epoch, cell->reader, cell->read_warp_epoch, thread, in_shared)) return true;
    if (cell->read_epoch != epoch) return false;
    return cell->read_by_warps || (cell->read_by_threads && cell->read_warp_epoch == warp_epoch[thread / 32]);
}

void note_read(Cell *cell, int thread) {
    const uint16_t now = warp_epoch[thread / 32];
    const bool same_epoch = cell->read_epoch == epoch;
    const bool other_warp = cell->reader / 32 != thread / 32;
    cell->read_by_warps = same_epoch && (cell->read_by_warps || other_warp);
    cell->read_by_threads =
        same_epoch && !other_warp && cell->read_warp_epoch == now && (cell->read_by_threads || cell->reader != thread);
    cell->read_epoch = epoch;
    cell->reader = (uint16_t)thread;
    cell->read_warp_epoch = now;
}

void note_write(Cell *cell, int thread, Access access) {
    cell->write_epoch = epoch;
    cell->writer = (uint16_t)thread;
    cell->write_warp_epoch = warp_epoch[thread / 32];
    cell->atomic_write = access == Access::atomic;
}

/* True if the address lies in a loaded object's data, as constant tables and literals do. */
bool in_loaded_object(uintptr_t address) {
    return dl_iterate_phdr(
        [](dl_phdr_info *object, size_t, void *sought) {
            for (int i = 0; i < object->dlpi_phnum; i++) {
                const auto &segment = object->dlpi_phdr[i];
                const uintptr_t start = object->dlpi_addr + segment.p_vaddr;
                if (segment.p_type == PT_LOAD && *(uintptr_t *)sought - start < segment.p_memsz) return 1;
            }
            return 0;
        },
        &address);
}

void check_bounds(uintptr_t address, size_t size, Access access, const void *code, bool in_shared) {
    const void *pointer = (const void *)address;
    if (in_shared ? shared_owns(address, size) : heap_owns(pointer, size)) return;
    stop_kernel(cudaErrorIllegalAddress, "out of bounds: kernel %s %zu bytes at %p, not within any %s (code %p)",
                access_verb(access), size, pointer, in_shared ? "__shared__ array" : "live device buffer", code);
}

} // namespace

void race_next_launch() {
    launch_start = ++epoch;
    published.clear();
}

void race_next_block() {
    block_start = ++epoch;
    fence_epoch = 0;
    heard_of.clear();
    acquired.clear();
    memset(warp_epoch, 0, sizeof warp_epoch);
}

void race_next_phase() {
    epoch++;
}

void race_next_warp(int warp) {
    warp_epoch[warp]++;
}

void race_forget(const void *memory, size_t size) {
    if (shadow.empty()) return;
    const uintptr_t first = (uintptr_t)memory / cells_a_page, last = ((uintptr_t)memory + size) / cells_a_page;
    for (uintptr_t page = first; page <= last; page++) shadow.erase(page);
    last_cells = nullptr;
}

void race_access(int thread, const void *memory, size_t size, Access access, const void *code) {
    const uintptr_t address = (uintptr_t)memory;
    const bool in_shared = shared_contains(address);
    if (!in_shared && heap_device(memory) < 0) {
        if (on_current_stack(address) || in_loaded_object(address)) return;
        stop_kernel(cudaErrorIllegalAddress, "kernel %s host memory at %p (code %p)", access_verb(access), memory,
                    code);
    }
    check_bounds(address, size, access, code, in_shared);
    for (size_t i = 0; i < size; i++) {
        Cell *cell = cell_of(address + i);
        const bool after_write = written_unordered(cell, thread, in_shared, access);
        const bool after_read = !after_write && access != Access::read && read_unordered(cell, thread, in_shared);
        if (after_write || after_read)
            stop_kernel(cudaErrorLaunchFailure,
                        "race: thread %d %s %s memory that thread %d %s, with no barrier between (%p, code %p)", thread,
                        access_verb(access), in_shared ? "shared" : "global", after_write ? cell->writer : cell->reader,
                        after_write ? "wrote" : "read", (const void *)(address + i), code);
        if (access == Access::read)
            note_read(cell, thread);
        else
            note_write(cell, thread, access);
    }
}

/* An atomic operation on a counter: publishes this block's epochs before its last fence, and receives those of
 * others. */
void race_meet_at(const void *counter) {
    std::vector<Epochs> &there = published[counter];
    heard_of.insert(heard_of.end(), there.begin(), there.end());
    if (fence_epoch) there.push_back({block_start, fence_epoch});
}

void race_fence() {
    fence_epoch = epoch;
    acquired.insert(acquired.end(), heard_of.begin(), heard_of.end());
    heard_of.clear();
}

} // namespace cudasim
