/* traffic.cpp - the traffic meter: costs of the accesses of instrumented kernels, in sectors of global memory and in
 * passes over the banks of shared memory.
 *
 * A warp access is one instruction that the lanes of a warp execute together. Lanes run one after the other here, so
 * it is reassembled: from the k-th execution of a call site (the hook's return address) by each lane since the warp
 * last met. If lanes skip iterations of a loop, the rest of that loop is reassembled one step off. There are no
 * caches: a sector counts in each warp access that touches it. Time is not modelled. Read next: hooks.cpp, which
 * calls it. */
#include "kernels/cudasim/sim.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace cudasim {

namespace {

const int warp_lanes = 32, banks = 32;
const uintptr_t sector_bytes = 32, bank_bytes = 4, widest_access = 16;

struct WarpAccess {
    uintptr_t address[warp_lanes];
    uint8_t size[warp_lanes]; /* 0: the lane takes no part */
};

/* The executions of one instruction by a warp since its lanes last met. */
struct CallSite {
    const void *code;
    Access access;
    bool shared;
    uint32_t executions[warp_lanes];
    std::vector<WarpAccess> accesses;
};

struct Warp {
    std::vector<CallSite> sites;
    std::unordered_map<uintptr_t, size_t> site_of;
    size_t next; /* predicted site: the one that followed the last one before */
};

Warp warps[max_block_threads / warp_lanes];
std::map<std::string, Traffic> by_kernel;
Traffic *metering; /* counts of the running launch's kernel; NULL: not metered */

/* ---- what a warp access costs ---- */

uint64_t sectors_of(const WarpAccess &warp) {
    uintptr_t touched[2 * warp_lanes];
    int count = 0;
    for (int i = 0; i < warp_lanes; i++) {
        if (!warp.size[i]) continue;
        const uintptr_t first = warp.address[i] / sector_bytes,
                        last = (warp.address[i] + warp.size[i] - 1) / sector_bytes;
        if (!count || touched[count - 1] != first) touched[count++] = first;
        if (last != first) touched[count++] = last;
    }
    std::sort(touched, touched + count);
    return (uint64_t)(std::unique(touched, touched + count) - touched);
}

/* Returns the number of passes over the banks that lanes [first, first + count) need: the maximum number of distinct
 * words in one bank. */
uint64_t passes_of(const WarpAccess &warp, int first, int count) {
    uintptr_t words[widest_access / bank_bytes * warp_lanes];
    int word_count = 0, in_bank[banks] = {};
    for (int i = first; i < first + count; i++)
        for (uintptr_t at = 0; at < warp.size[i]; at += bank_bytes)
            words[word_count++] = (warp.address[i] + at) / bank_bytes;
    std::sort(words, words + word_count);
    int most = 0;
    for (int i = 0; i < word_count; i++)
        if (!i || words[i] != words[i - 1]) most = std::max(most, ++in_bank[words[i] % banks]);
    return (uint64_t)most;
}

/* A warp accesses 8 bytes per lane in halves, 16 in quarters; each half or quarter needs at least one pass. */
uint64_t bank_conflicts_of(const WarpAccess &warp) {
    const int widest = *std::max_element(warp.size, warp.size + warp_lanes);
    const int group = widest <= 4 ? warp_lanes : widest <= 8 ? warp_lanes / 2 : warp_lanes / 4;
    uint64_t extra = 0;
    for (int first = 0; first < warp_lanes; first += group) {
        const uint64_t passes = passes_of(warp, first, group);
        if (passes) extra += passes - 1;
    }
    return extra;
}

void count(const CallSite &site) {
    for (const WarpAccess &warp : site.accesses) {
        uint64_t bytes = 0;
        if (site.shared) {
            metering->bank_conflicts += bank_conflicts_of(warp);
            continue;
        }
        for (int i = 0; i < warp_lanes; i++) bytes += warp.size[i];
        (site.access == Access::read ? metering->read_bytes : metering->written_bytes) += bytes;
        metering->sectors += sectors_of(warp);
    }
}

/* ---- putting warp accesses together ---- */

CallSite &site_of(Warp &warp, const void *code, Access access, bool shared) {
    const auto is_it = [&](const CallSite &site) {
        return site.code == code && site.access == access && site.shared == shared;
    };
    if (warp.next >= warp.sites.size() || !is_it(warp.sites[warp.next])) {
        const uintptr_t key = (uintptr_t)code * 8 + (uintptr_t)access * 2 + shared;
        const auto found = warp.site_of.emplace(key, warp.sites.size());
        if (found.second) warp.sites.push_back({code, access, shared, {}, {}});
        warp.next = found.first->second;
    }
    return warp.sites[warp.next++];
}

} // namespace

void traffic_reset() {
    by_kernel.clear();
}

void traffic_next_launch(const void *kernel, bool metered) {
    for (Warp &warp : warps) warp = Warp();
    metering = metered ? &by_kernel[kernel_name(kernel)] : nullptr;
    if (metered) metering->launches++;
}

bool traffic_metered() {
    return metering;
}

void traffic_access(int thread, const void *memory, size_t size, Access access, const void *code) {
    const uintptr_t address = (uintptr_t)memory;
    const bool shared = shared_contains(address);
    if (!shared && heap_device(memory) < 0) return; /* the stack, or constant tables */
    const int lane = thread % warp_lanes;
    CallSite &site = site_of(warps[thread / warp_lanes], code, access, shared);
    for (size_t at = 0; at < size; at += widest_access) {
        const size_t execution = site.executions[lane]++;
        if (execution == site.accesses.size()) site.accesses.push_back({});
        site.accesses[execution].address[lane] = address + at;
        site.accesses[execution].size[lane] = (uint8_t)std::min(size - at, (size_t)widest_access);
    }
}

void traffic_warp_meets(int index) {
    if (!metering) return;
    Warp &warp = warps[index];
    for (CallSite &site : warp.sites) {
        count(site);
        site.accesses.clear();
        memset(site.executions, 0, sizeof site.executions);
    }
    warp.next = 0;
}

void traffic_block_meets() {
    for (int i = 0; metering && i < max_block_threads / warp_lanes; i++) traffic_warp_meets(i);
}

size_t traffic_of_kernels(cudasim_traffic *rows, size_t most) {
    size_t count = 0;
    for (const auto &kernel : by_kernel) {
        if (count < most) {
            rows[count] = {};
            snprintf(rows[count].kernel, sizeof rows[count].kernel, "%s", kernel.first.c_str());
            rows[count].counts = kernel.second;
        }
        count++;
    }
    return count;
}

} // namespace cudasim
