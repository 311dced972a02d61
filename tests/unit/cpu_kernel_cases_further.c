/* cpu_kernel_cases_further.c - makers of random nodes of operators that are not products, maps or pools by name:
 * Einsum, normalisations of channels, what samples pictures. Read first: cpu_kernel_cases.c. */
#include "tests/unit/cpu_kernel_cases.h"

#include <math.h>
#include <string.h>

#include "ops/numeric.h"

/* Some element becomes a number that must go its way alone. */
void spoil_input(random_node *n, random_source *r, int32_t input) {
    const float numbers[] = {NAN, INFINITY, -INFINITY, 0};
    const tort_tensor *tensor = &n->inputs[input];
    if (tort_count(tensor) > 0) ((float *)tensor->data)[draw(r, 0, tort_count(tensor) - 1)] = numbers[draw(r, 0, 3)];
}

void make_einsum(random_node *n, random_source *r) {
    static const char *const equations[] = {
        "ij,jk->ik",   "bhid,bhjd->bhij", "bihd,bjhd->bhij",   "bihd,bjhd->bijh", "bhwc,hkc->bhwk",
        "nkv,kvw->nw", "ij,kj->ki",       "bij,bj->bi",        "abc,dbc->ad",     "kab,kcd->bdac",
        "ji,jk->ik",   "abcd,cbe->ade",   "...ij,...jk->...ik"};
    const char *equation = equations[draw(r, 0, 12)];
    const int64_t max = chance(r, 20) ? 200 : 40;
    int64_t sizes[128];
    for (int32_t c = 0; c < 128; c++) sizes[c] = chance(r, 3) ? 0 : c > 'b' ? draw(r, 2, max) : draw(r, 1, 5);
    if (strchr(equation, 'c') || strchr(equation, 'h'))
        for (int32_t c = 0; c < 128; c++) sizes[c] = sizes[c] > 20 ? 20 : sizes[c];
    const char *at = equation;
    for (int32_t i = 0; i < 2; i++, at++) {
        int64_t dims[8];
        int32_t rank = 0;
        for (; *at != ',' && *at != '-'; at++) {
            if (*at != '.') dims[rank++] = sizes[(int)*at];
            if (*at == '.' && at[1] != '.') dims[rank++] = i && sizes['a'] > 3 ? 1 : sizes['a'];
        }
        add_tensor(n, r, rank, dims);
    }
    add_string(n, "equation", equation);
    n->opset = 12;
}

static void add_statistics(random_node *n, random_source *r, int64_t channels) {
    for (int32_t i = 0; i < 4; i++) add_tensor(n, r, 1, &channels);
    float *variance = n->inputs[4].data;
    for (int64_t c = 0; c < channels; c++) variance[c] = (float)draw(r, 1, 16) / 8;
}

void make_batch_norm(random_node *n, random_source *r) {
    const int64_t dims[4] = {draw(r, 0, 3), draw(r, 1, 40), draw(r, 1, 9), draw(r, 1, 20)};
    add_tensor(n, r, (int32_t)draw(r, 2, 4), dims);
    add_statistics(n, r, dims[1]);
    if (chance(r, 40)) spoil_input(n, r, 0);
    n->opset = 15;
    n->tolerance = 1e-5f;
}

void make_group_norm(random_node *n, random_source *r) {
    const int64_t groups = draw(r, 1, 4),
                  dims[4] = {draw(r, 0, 3), groups * draw(r, 1, 5), draw(r, 2, 9), draw(r, 3, 20)};
    n->opset = chance(r, 50) ? 18 : 21;
    add_tensor(n, r, (int32_t)draw(r, 3, 4), dims);
    for (int32_t i = 0; i < 2; i++) add_tensor(n, r, 1, n->opset < 21 ? &groups : dims + 1);
    add_int(n, "num_groups", groups);
    if (chance(r, 30)) spoil_input(n, r, 0);
    n->tolerance = 1e-4f; /* a variance of few elements may nearly cancel */
}

void make_lp_norm(random_node *n, random_source *r) {
    const int64_t dims[2] = {draw(r, 0, 9), draw(r, 1, 90)};
    add_tensor(n, r, 2, dims);
    float *x = n->inputs[0].data;
    const float size = chance(r, 20) ? 1e-25f : chance(r, 20) ? 1e25f : chance(r, 10) ? 0 : 1;
    for (int64_t i = 0; i < dims[0] * dims[1]; i++) x[i] *= size;
    if (chance(r, 30)) spoil_input(n, r, 0);
    n->opset = 22;
    n->tolerance = 1e-5f;
}

/* Sizes are constants, as inference needs them. */

/* Numbers only: a tap of weight 0 is left out here or there, and so an infinity beside a sample may make it NaN. */
static void add_resize(random_node *n, random_source *r, int64_t channels) {
    static const char *const modes[] = {"nearest", "linear", "cubic"};
    static const char *const transforms[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                             "align_corners", "asymmetric"};
    static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
    const int64_t dims[4] = {draw(r, 1, 2), channels, draw(r, 1, 30), draw(r, 1, 70)}, rank = 4;
    add_tensor(n, r, 4, dims);
    n->input_count += 2; /* without roi and scales */
    const tort_tensor *sizes = add_buffer(n, TORT_INT64, 1, &rank);
    const bool blocked = channels >= 16; /* for which not everything is taken */
    const int32_t kept = blocked && chance(r, 90) ? 4 : (int32_t)draw(r, 2, 4);
    for (int32_t i = 0; i < 4; i++)
        ((int64_t *)sizes->data)[i] = i < 2 || i == kept ? dims[i] : chance(r, 30) ? 2 * dims[i] : draw(r, 1, 70);
    n->constant[3] = true;
    add_string(n, "mode", modes[draw(r, 0, blocked ? 1 : 2)]);
    add_string(n, "coordinate_transformation_mode", transforms[draw(r, 0, 4)]);
    add_string(n, "nearest_mode", roundings[draw(r, 0, 3)]);
    add_int(n, "antialias", chance(r, blocked ? 5 : 30));
    add_int(n, "exclude_outside", chance(r, 20));
    n->opset = 19;
    n->tolerance = 1e-5f;
}

void make_resize(random_node *n, random_source *r) {
    add_resize(n, r, draw(r, 1, 4));
}

void make_blocked_resize(random_node *n, random_source *r) {
    add_resize(n, r, draw(r, 16, 40));
}

/* Resizes the last two axes. */
static void add_upsample(random_node *n, random_source *r, int32_t rank, const int64_t *dims) {
    const int64_t count = rank;
    add_tensor(n, r, rank, dims);
    add_tensor(n, r, 1, &count);
    float *scales = n->inputs[1].data;
    for (int32_t i = 0; i < rank; i++) scales[i] = i < rank - 2 ? 1 : (float)draw(r, 2, 6) / 2;
    n->constant[1] = true;
    add_string(n, "mode", chance(r, 50) ? "nearest" : "linear");
    n->opset = 9;
    n->tolerance = 1e-5f;
}

void make_upsample(random_node *n, random_source *r) {
    add_upsample(n, r, 3, (const int64_t[]){draw(r, 1, 6), draw(r, 1, 20), draw(r, 1, 40)});
}

void make_blocked_upsample(random_node *n, random_source *r) {
    add_upsample(n, r, 4, (const int64_t[]){draw(r, 1, 2), draw(r, 16, 40), draw(r, 1, 20), draw(r, 1, 40)});
}

static void add_caches(random_node *n, random_source *r, int32_t rank, const int64_t *dims) {
    for (int32_t i = 0; i < 2; i++) add_tensor(n, r, rank, dims);
}

static void add_positions(random_node *n, random_source *r, int32_t rank, const int64_t *dims, int64_t max) {
    const tort_tensor *positions = add_buffer(n, TORT_INT64, rank, dims);
    for (int64_t i = 0; i < tort_count(positions); i++) ((int64_t *)positions->data)[i] = draw(r, 0, max);
}

void make_rotary(random_node *n, random_source *r) {
    const int64_t batch = draw(r, 0, 3), heads = draw(r, 1, 4), length = draw(r, 1, 9), half = draw(r, 1, 20);
    const int64_t size = 2 * half + (chance(r, 30) ? draw(r, 0, 7) : 0);
    if (chance(r, 50))
        add_tensor(n, r, 3, (const int64_t[]){batch, length, heads * size});
    else
        add_tensor(n, r, 4, (const int64_t[]){batch, heads, length, size});
    const bool chosen = chance(r, 50);
    add_caches(n, r, chosen ? 2 : 3, chosen ? (const int64_t[]){12, half} : (const int64_t[]){batch, length, half});
    if (chosen) add_positions(n, r, 2, (const int64_t[]){batch, length}, 11);
    add_int(n, "num_heads", heads);
    add_int(n, "interleaved", draw(r, 0, 1));
    add_int(n, "rotary_embedding_dim", 2 * half);
    n->opset = 23;
    n->tolerance = 1e-5f;
}

void make_rotary_of_microsoft(random_node *n, random_source *r) {
    const int64_t batch = draw(r, 1, 3), heads = draw(r, 1, 4), length = draw(r, 1, 9), half = draw(r, 1, 20), one = 1;
    add_tensor(n, r, 4, (const int64_t[]){batch, heads, length, 2 * half});
    if (chance(r, 50))
        add_positions(n, r, 1, &one, 3);
    else
        add_positions(n, r, 2, (const int64_t[]){batch, length}, 11);
    add_caches(n, r, 2, (const int64_t[]){12, half});
    add_int(n, "interleaved", draw(r, 0, 1));
    n->opset = 1;
    n->tolerance = 1e-5f;
}

/* Points lie in the picture and beside it, some far away. */
void make_grid_sample(random_node *n, random_source *r) {
    const int64_t dims[4] = {draw(r, 1, 2), draw(r, 0, 5), draw(r, 1, 9), draw(r, 1, 20)};
    const int64_t grid[4] = {dims[0], draw(r, 1, 9), draw(r, 1, 30), 2};
    static const char *const paddings[] = {"zeros", "border"};
    add_tensor(n, r, 4, dims);
    add_tensor(n, r, 4, grid);
    const tort_tensor *points = &n->inputs[1];
    for (int64_t i = 0; i < tort_count(points); i++) ((float *)points->data)[i] *= chance(r, 5) ? 1e20f : 1.3f;
    for (int32_t i = 0; i < 2; i++)
        if (chance(r, 30)) spoil_input(n, r, i);
    add_string(n, "mode", chance(r, 30) ? "nearest" : "bilinear");
    add_string(n, "padding_mode", paddings[draw(r, 0, 1)]);
    add_int(n, "align_corners", draw(r, 0, 1));
    n->opset = 16;
    n->tolerance = 1e-5f;
}

void make_grid_sample_of_microsoft(random_node *n, random_source *r) {
    make_grid_sample(n, r);
    n->opset = 1;
}

/* Regions lie in the picture and beside it; some are empty. */
void make_roi_align(random_node *n, random_source *r) {
    const int64_t dims[4] = {draw(r, 1, 2), draw(r, 1, 7), draw(r, 1, 12), draw(r, 1, 20)}, regions = draw(r, 0, 5);
    add_tensor(n, r, 4, dims);
    add_tensor(n, r, 2, (const int64_t[]){regions, 4});
    float *corners = n->inputs[1].data;
    for (int64_t i = 0; i < 4 * regions; i++) corners[i] = (float)draw(r, -16, 100) / 4;
    add_positions(n, r, 1, &regions, dims[0] - 1);
    add_int(n, "output_height", draw(r, 1, 4));
    add_int(n, "output_width", draw(r, 1, 4));
    add_int(n, "sampling_ratio", draw(r, 0, 3));
    add_float(n, "spatial_scale", 0.5f);
    add_string(n, "coordinate_transformation_mode", chance(r, 50) ? "half_pixel" : "output_half_pixel");
    if (chance(r, 20)) spoil_input(n, r, 0);
    n->opset = 16;
    n->tolerance = 1e-5f;
}

/* Offsets are up to some elements; some samples lie beside the picture. */
void make_deform_conv(random_node *n, random_source *r) {
    const int64_t group = draw(r, 1, 2), moves = draw(r, 1, 2), kernel[2] = {draw(r, 1, 3), draw(r, 1, 3)};
    const int64_t channels = group * moves * draw(r, 1, 3), batch = draw(r, 1, 2), positions = kernel[0] * kernel[1];
    const int64_t x[4] = {batch, channels, draw(r, 3, 12), draw(r, 3, 14)};
    const int64_t out[2] = {x[2] - kernel[0] + 1, x[3] - kernel[1] + 1}, filters = group * draw(r, 1, 20);
    add_tensor(n, r, 4, x);
    add_tensor(n, r, 4, (const int64_t[]){filters, channels / group, kernel[0], kernel[1]});
    add_tensor(n, r, 4, (const int64_t[]){batch, moves * positions * 2, out[0], out[1]});
    float *offsets = n->inputs[2].data;
    for (int64_t i = 0; i < tort_count(&n->inputs[2]); i++) offsets[i] *= chance(r, 10) ? 20 : 2;
    if (chance(r, 50))
        add_tensor(n, r, 1, &filters);
    else
        n->input_count++;
    if (chance(r, 50)) add_tensor(n, r, 4, (const int64_t[]){batch, moves * positions, out[0], out[1]});
    if (chance(r, 20)) spoil_input(n, r, chance(r, 50) ? 0 : 2);
    add_int(n, "group", group);
    add_int(n, "offset_group", moves);
    n->opset = 19;
    n->tolerance = 1e-4f;
}

void make_layer_norm(random_node *n, random_source *r) {
    const int64_t dims[3] = {draw(r, 1, 5), draw(r, 1, 7), pick(r, (const int64_t[]){1, 5, 16, 31, 64, 77}, 6)};
    const int32_t axis = (int32_t)draw(r, 1, 2);
    add_tensor(n, r, 3, dims);
    add_tensor(n, r, 3 - axis, dims + axis);
    if (chance(r, 70)) add_tensor(n, r, 3 - axis, dims + axis);
    add_int(n, "axis", chance(r, 50) ? axis : axis - 3);
    n->opset = 17;
    n->tolerance = 1e-4f; /* a variance of few elements may nearly cancel */
}

void make_instance_norm(random_node *n, random_source *r) {
    const int64_t dims[4] = {draw(r, 1, 3), draw(r, 1, 5), draw(r, 2, 9), draw(r, 3, 20)};
    add_tensor(n, r, (int32_t)draw(r, 3, 4), dims);
    add_tensor(n, r, 1, dims + 1);
    add_tensor(n, r, 1, dims + 1);
    n->opset = 6;
    n->tolerance = 1e-4f; /* a variance of few elements may nearly cancel */
}
