/* heap.cpp - device memory: an arena of address space per device, accessible only to a kernel or a copy of that
 * device, and only while it runs.
 *
 * Host code that dereferences a device pointer therefore faults at once, and so does a kernel that gets a buffer of
 * the other device. Fresh buffers hold poison; they are aligned to 256 bytes and no more, as CUDA promises;
 * addresses are not reused before half of the arena is used up; under AddressSanitizer everything outside live buffers
 * is poisoned. The arena uses 2 MB pages, because the cost of opening it is proportional to the number of pages. Read
 * next: race.cpp. */
#include "kernels/cudasim/sim.h"

#include <algorithm>
#include <map>
#include <sys/mman.h>

namespace cudasim {

namespace {

const size_t page = 4096, huge_page = 2 << 20;
const size_t arena_bytes = (size_t)16 << 30; /* of address space; memory is committed when touched */
const size_t lead = 256; /* before each buffer: a red zone, which also prevents a larger alignment */

struct Buffer {
    size_t size;  /* as requested */
    char *block;  /* pages that contain the buffer */
    size_t taken; /* bytes of those pages */
};

struct Arena {
    char *start;
    size_t used;   /* bytes from the start that were ever allocated */
    size_t opened; /* offset where the open part begins; no live buffer lies before it */
    int open;      /* nesting depth */
    std::map<char *, Buffer> live;
    std::multimap<size_t, char *> free_blocks; /* by size */
    size_t live_bytes;
};
/* Never destroyed: an application may free device memory while it exits. */
Arena *const arenas = new Arena[max_devices]();

size_t round_up(size_t value, size_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

void protect(Arena &arena, int protection) {
    const size_t end = std::min(arena_bytes, round_up(arena.used, huge_page));
    if (end > arena.opened) mprotect(arena.start + arena.opened, end - arena.opened, protection);
}

/* Offset of the first live block, or the end of the used part, rounded down to a huge page. */
size_t first_live(const Arena &arena) {
    const size_t first = arena.live.empty() ? arena.used : (size_t)(arena.live.begin()->second.block - arena.start);
    return first / huge_page * huge_page;
}

bool create(Arena &arena) {
    if (arena.start) return true;
    void *memory =
        mmap(nullptr, arena_bytes + huge_page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    install_fault_handlers(); /* before a device pointer exists */
    arena.start = (char *)round_up((uintptr_t)memory, huge_page);
    madvise(arena.start, arena_bytes, MADV_HUGEPAGE);
    return true;
}

/* Prefers fresh addresses, so that a use after free does not find another buffer's data. When half of them are used and
 * nothing is live, they start over: an arena that is used up would be opened as a whole for each kernel. */
char *take_block(Arena &arena, size_t size, size_t *taken) {
    *taken = size;
    if (arena.used > arena_bytes / 2 && arena.live.empty() && !arena.open) {
        arena.used = 0;
        arena.free_blocks.clear();
    }
    if (size <= arena_bytes - arena.used) {
        char *block = arena.start + arena.used;
        arena.used += size;
        if (arena.open) protect(arena, PROT_READ | PROT_WRITE);
        return block;
    }
    const auto found = arena.free_blocks.lower_bound(size);
    if (found == arena.free_blocks.end()) return nullptr;
    char *block = found->second;
    *taken = found->first;
    arena.free_blocks.erase(found);
    arena.opened = std::min(arena.opened, (size_t)(block - arena.start) / huge_page * huge_page);
    if (arena.open) protect(arena, PROT_READ | PROT_WRITE);
    return block;
}

const std::pair<char *const, Buffer> *find(const void *memory) {
    const int device = heap_device(memory);
    if (device < 0) return nullptr;
    const auto next = arenas[device].live.upper_bound((char *)const_cast<void *>(memory));
    return next == arenas[device].live.begin() ? nullptr : &*std::prev(next);
}

} // namespace

void heap_open(int device) {
    Arena &arena = arenas[device];
    if (arena.open++) return;
    arena.opened = first_live(arena);
    protect(arena, PROT_READ | PROT_WRITE);
}

void heap_close(int device) {
    if (!--arenas[device].open) protect(arenas[device], PROT_NONE);
}

void *heap_allocate(int device, size_t bytes) {
    Arena &arena = arenas[device];
    if (!create(arena) || bytes > arena_bytes - lead - page) return nullptr;
    size_t taken;
    char *block = take_block(arena, round_up(lead + bytes + lead, page), &taken);
    if (!block) return nullptr;
    char *memory = block + lead;
    arena.live[memory] = {bytes, block, taken};
    arena.live_bytes += bytes;
    HeapAccess access(device);
    ASAN_POISON_MEMORY_REGION(block, taken);
    ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
    memset(memory, poison, bytes);
    return memory;
}

bool heap_release(void *memory) {
    const int device = heap_device(memory);
    if (device < 0) return false;
    Arena &arena = arenas[device];
    const auto found = arena.live.find((char *)memory);
    if (found == arena.live.end()) return false;
    const Buffer buffer = found->second;
    arena.live.erase(found);
    arena.live_bytes -= buffer.size;
    arena.free_blocks.insert({buffer.taken, buffer.block});
    race_forget(memory, buffer.size);
    ASAN_POISON_MEMORY_REGION(buffer.block, buffer.taken);
    madvise(buffer.block, buffer.taken, MADV_DONTNEED); /* returns the pages, keeps the addresses */
    return true;
}

int heap_device(const void *memory) {
    const uintptr_t address = (uintptr_t)memory;
    for (int i = 0; i < max_devices; i++) {
        const uintptr_t start = (uintptr_t)arenas[i].start;
        if (start && address >= start && address < start + arena_bytes) return i;
    }
    return -1;
}

bool heap_owns(const void *memory, size_t bytes) {
    const auto *buffer = find(memory);
    if (!buffer) return false;
    const size_t offset = (size_t)((const char *)memory - buffer->first);
    return offset <= buffer->second.size && bytes <= buffer->second.size - offset;
}

size_t heap_live_bytes(int device) {
    return arenas[device].live_bytes;
}

size_t heap_live_buffers(int device) {
    return arenas[device].live.size();
}

} // namespace cudasim
