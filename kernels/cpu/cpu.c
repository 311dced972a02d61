/* cpu.c - functions that the kernels of the provider `cpu` share, see cpu.h. */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/bf16.h"

#include "ops/numeric.h"

#include <math.h>

/* Tables of this build, best first: the make variable SIMD selects them. */
extern const tort_bytes tort_bytes_v2, tort_bytes_v3, tort_bytes_v3_vnni, tort_bytes_v4, tort_bytes_v4_vnni,
    tort_bytes_v4_amx, tort_bytes_v3_tiles;
extern const tort_bytes tort_bytes_neon, tort_bytes_neon_dot, tort_bytes_rvv;
extern const tort_simd tort_simd_v2, tort_simd_v3, tort_simd_v4, tort_simd_neon, tort_simd_rvv;

static const tort_bytes *const byte_tables[] = {
#ifdef TORT_HAS_v4_amx
    &tort_bytes_v4_amx,
#endif
#ifdef TORT_HAS_v3_tiles
    &tort_bytes_v3_tiles,
#endif
#ifdef TORT_HAS_v4_vnni
    &tort_bytes_v4_vnni,
#endif
#ifdef TORT_HAS_v4
    &tort_bytes_v4,
#endif
#ifdef TORT_HAS_v3_vnni
    &tort_bytes_v3_vnni,
#endif
#ifdef TORT_HAS_v3
    &tort_bytes_v3,
#endif
#ifdef TORT_HAS_v2
    &tort_bytes_v2,
#endif
#ifdef TORT_HAS_neon_dot
    &tort_bytes_neon_dot,
#endif
#ifdef TORT_HAS_neon
    &tort_bytes_neon,
#endif
#ifdef TORT_HAS_rvv
    &tort_bytes_rvv,
#endif
    NULL};

extern const tort_bf16 tort_bf16_v4_amx, tort_bf16_v3_tiles;

static const tort_bf16 *const bf16_tables[] = {
#ifdef TORT_HAS_v3_tiles
    &tort_bf16_v3_tiles,
#endif
#ifdef TORT_HAS_v4_amx
    &tort_bf16_v4_amx,
#endif
    NULL};

static const tort_simd *const tables[] = {
#ifdef TORT_HAS_v4
    &tort_simd_v4,
#endif
#ifdef TORT_HAS_v3
    &tort_simd_v3,
#endif
#ifdef TORT_HAS_v2
    &tort_simd_v2,
#endif
#ifdef TORT_HAS_neon
    &tort_simd_neon,
#endif
#ifdef TORT_HAS_rvv
    &tort_simd_rvv,
#endif
    NULL};

const tort_simd *tort_simd_choose(uint32_t instructions) {
    for (int i = 0; tables[i]; i++)
        if (tables[i]->instructions & instructions) return tables[i];
    return NULL;
}

const tort_bytes *tort_bytes_choose(uint32_t instructions) {
    for (int i = 0; byte_tables[i]; i++)
        if ((byte_tables[i]->instructions & ~instructions) == 0) return byte_tables[i];
    return NULL;
}

const tort_bf16 *tort_bf16_choose(uint32_t instructions) {
    for (int i = 0; bf16_tables[i]; i++)
        if ((bf16_tables[i]->instructions & ~instructions) == 0) return bf16_tables[i];
    return NULL;
}

bool tort_simd_bounds(const tort_epilogue *epilogue, tort_bounds *bounds) {
    const tort_activation activation = epilogue ? epilogue->activation : TORT_ACTIVATION_NONE;
    *bounds = (tort_bounds){.low = -INFINITY, .high = INFINITY};
    switch (activation) {
    case TORT_ACTIVATION_NONE: return true;
    case TORT_ACTIVATION_RELU: bounds->low = 0; return true;
    case TORT_ACTIVATION_CLIP: *bounds = (tort_bounds){.low = epilogue->alpha, .high = epilogue->beta}; return true;
    default: return false;
    }
}

int32_t tort_cpu_threads(const tort_cpu_device *device, int64_t work) {
    const int64_t worth = work / TORT_WORTH_A_THREAD;
    return worth < 1 ? 1 : worth < device->threads ? (int32_t)worth : device->threads;
}

void tort_cpu_parts(const tort_call *call, int32_t parts, void (*body)(void *arg, int64_t begin, int64_t end),
                    void *arg) {
    if (parts <= 1)
        body(arg, 0, 1);
    else
        call->env->parallel_for(call->env->parallel_ud, parts, 1, body, arg);
}

void tort_cpu_share(int64_t count, int64_t unit, int64_t part, int64_t parts, int64_t *begin, int64_t *end) {
    const int64_t units = (count + unit - 1) / unit;
    *begin = units * part / parts * unit;
    *end = units * (part + 1) / parts * unit;
    if (*begin > count) *begin = count;
    if (*end > count) *end = count;
}

tort_cpu_split tort_cpu_split_of(const tort_cpu_products *products, int32_t threads) {
    tort_cpu_split best = {1, 1};
    int64_t min = INT64_MAX;
    for (int32_t f = 1; f <= threads; f++) {
        const int32_t p = threads / f;
        const int64_t pixels = (products->pixels + p - 1) / p, filters = (products->filters + f - 1) / f;
        const int64_t cost = pixels * filters + pixels * products->pixel_cost + filters * products->filter_cost;
        if (cost >= min) continue;
        min = cost;
        best = (tort_cpu_split){.pixel_parts = p, .filter_parts = f};
    }
    return best;
}

tort_cpu_split tort_cpu_split_tiles(int64_t rows, int32_t tile_rows, int64_t columns, int32_t tile_columns,
                                    int64_t packing, int32_t threads) {
    const tort_cpu_products products = {.pixels = (columns + tile_columns - 1) / tile_columns,
                                        .filters = (rows + tile_rows - 1) / tile_rows,
                                        .pixel_cost = packing};
    return tort_cpu_split_of(&products, threads);
}

tort_verdict tort_cpu_claim_processor(const tort_target *target) {
    if (tort_simd_choose(target->instructions)) return tort_yes();
    return tort_no(TORT_NO_CAPABILITY, "", "there are no vector loops for this processor");
}

tort_verdict tort_cpu_claim_any(const tort_target *target, const tort_node_view *node) {
    (void)node;
    return tort_cpu_claim_processor(target);
}

tort_verdict tort_cpu_claim_float(const tort_target *target, const tort_node_view *node) {
    if (node->inputs[0].type != TORT_FLOAT)
        return tort_no(TORT_NO_TYPE, "", "is for float, the input is %s", tort_type_name(node->inputs[0].type));
    return tort_cpu_claim_processor(target);
}

const tort_epilogue *tort_cpu_epilogue(const tort_epilogue *epilogue) {
    return epilogue->activation || epilogue->residual ? epilogue : NULL;
}

const void *tort_cpu_residual(const tort_call *call, const tort_epilogue *epilogue) {
    return epilogue->residual ? call->inputs[TORT_EPILOGUE_Z].data : NULL;
}

float tort_cpu_number(const tort_tensor *tensor, int64_t i) {
    float number;
    tort_load_floats(tensor->type, tensor->data, i, 1, &number);
    return number;
}

bool tort_cpu_reserve(size_t *total, size_t bytes) {
    return tort_align_size(bytes, TORT_HOST_ALIGN, &bytes) && tort_add_size(*total, bytes, total);
}

bool tort_cpu_reserve_floats(size_t *total, int64_t count) {
    size_t bytes;
    return tort_mul_size((uint64_t)count, sizeof(float), &bytes) && tort_cpu_reserve(total, bytes);
}

void *tort_cpu_take(char **scratch, size_t bytes) {
    void *taken = *scratch;
    *scratch += (bytes + TORT_HOST_ALIGN - 1) / TORT_HOST_ALIGN * TORT_HOST_ALIGN;
    return taken;
}

tort_status tort_cpu_pack_floats(int64_t count, size_t *bytes, uint32_t *consumed, tort_error *error) {
    if (count < 0 || !tort_mul_size((uint64_t)count, sizeof(float), bytes)) return tort_out_of_memory(error, SIZE_MAX);
    *consumed = 1u << 1;
    return TORT_OK;
}
