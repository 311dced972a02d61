/* cpu_kernel_cases_blocked.c - random nodes for the rows of the layout of blocks of 16 channels. Read next:
 * cpu_kernels.c, which brings their tensors there and back. */
#include <string.h>

#include "runtime/include/op.h"
#include "kernels/cpu/sizes.h"
#include "tests/unit/cpu_kernel_cases.h"

#define PICK(r, ...) pick(r, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

/* A picture of `channels` and filters that read `of_group` of them. */
static void add_operands(random_node *n, random_source *r, int32_t axes, int64_t channels, int64_t filters,
                         int64_t group) {
    int64_t x[5] = {draw(r, 1, 2), channels}, w[5] = {filters, channels / group};
    for (int32_t i = 0; i < axes; i++) {
        w[i + 2] = chance(r, 30) ? 1 : draw(r, 1, axes == 3 ? 2 : 5);
        x[i + 2] = axes == 3 ? draw(r, 4, 6) : axes == 1 ? draw(r, 9, 90) : draw(r, 9, 20);
    }
    if (chance(r, 20))
        for (int32_t i = 0; i < axes; i++) w[i + 2] = 1;
    add_tensor(n, r, axes + 2, x);
    add_tensor(n, r, axes + 2, w);
    if (chance(r, 60)) add_tensor(n, r, 1, w);
    n->constant[1] = true;
    n->opset = 11;
    add_int(n, "group", group);
    if (chance(r, 80)) make_window(n, r, axes, w + 2);
}

void make_blocked_conv(random_node *n, random_source *r) {
    const int32_t axes = (int32_t)draw(r, 1, 3);
    const int64_t kind = draw(r, 0, 3), group = draw(r, 2, 3), of_group = PICK(r, 1, 2, 4, 8);
    if (kind == 0) /* whole blocks in groups */
        add_operands(n, r, axes, group * PICK(r, 16, 32), group * PICK(r, 16, 48), group);
    else if (kind == 1) { /* groups that share blocks */
        const int64_t channels = of_group * draw(r, (16 + of_group - 1) / of_group, 36 / of_group);
        add_operands(n, r, axes, channels, channels, channels / of_group);
    } else
        add_operands(n, r, axes, PICK(r, 16, 19, 24, 40), PICK(r, 8, 13, 16, 40, 64, 70), 1);
}

/* Windows of which some positions see nothing but padding, and pictures smaller than the window. */
void make_dilated_conv(random_node *n, random_source *r) {
    const int32_t axes = (int32_t)draw(r, 1, 2);
    const int64_t channels = PICK(r, 16, 19, 40), filters = PICK(r, 8, 13, 16, 40, 70);
    int64_t x[4] = {draw(r, 1, 2), channels}, w[4] = {filters, channels};
    for (int32_t i = 0; i < axes; i++) x[i + 2] = draw(r, 14, axes == 1 ? 90 : 30);
    int64_t *strides = add_list(n, "strides", axes), *dilations = add_list(n, "dilations", axes),
            *pads = add_list(n, "pads", 2 * axes);
    for (int32_t i = 0; i < axes; i++) {
        const int64_t extent = draw(r, 1, 30);
        w[i + 2] = i == 0 ? draw(r, 2, 5) : draw(r, 1, 3);
        dilations[i] = tort_max(i == 0 ? 9 : 1, extent / w[i + 2]);
        strides[i] = chance(r, 70) ? 1 : 2;
        const int64_t needed = (w[i + 2] - 1) * dilations[i] + 1 - x[i + 2];
        for (int32_t end = 0; end < 2; end++) pads[i + end * axes] = tort_max(draw(r, 0, 25), (needed + 1) / 2);
    }
    add_tensor(n, r, axes + 2, x);
    add_tensor(n, r, axes + 2, w);
    if (chance(r, 60)) add_tensor(n, r, 1, &filters);
    n->constant[1] = true;
    n->opset = 11;
}

void make_first_conv(random_node *n, random_source *r) {
    add_operands(n, r, (int32_t)draw(r, 1, 3), draw(r, 1, 15), PICK(r, 8, 13, 32, 70), 1);
}

void make_blocked_depthwise(random_node *n, random_source *r) {
    const int64_t channels = PICK(r, 16, 17, 40, 64);
    add_operands(n, r, (int32_t)draw(r, 1, 2), channels, channels, channels);
}

/* Of pictures that are no smaller than the windows, but for some whose places are mostly padding. */
void make_blocked_transpose(random_node *n, random_source *r) {
    const int32_t axes = (int32_t)draw(r, 1, 3);
    const int64_t group = chance(r, 75) ? 1 : draw(r, 2, 3);
    const int64_t channels = group > 1 ? PICK(r, 16, 32) : PICK(r, 16, 19, 24, 40);
    const int64_t filters = group > 1 ? PICK(r, 16, 48) : PICK(r, 8, 13, 16, 40, 64, 70);
    int64_t x[5] = {draw(r, 1, 2), group * channels}, w[5] = {group * channels, filters};
    for (int32_t i = 0; i < axes; i++) {
        w[i + 2] = chance(r, 30) ? 2 : draw(r, 1, axes == 3 ? 3 : 5);
        x[i + 2] = axes == 3 ? draw(r, 3, 6) : axes == 1 ? draw(r, 4, 90) : draw(r, 3, 18);
    }
    const int64_t bias = group * filters;
    add_tensor(n, r, axes + 2, x);
    add_tensor(n, r, axes + 2, w);
    if (chance(r, 60)) add_tensor(n, r, 1, &bias);
    n->constant[1] = true;
    n->opset = 11;
    add_int(n, "group", group);
    if (chance(r, 90)) make_window(n, r, axes, w + 2);
}

void make_point_transpose(random_node *n, random_source *r) {
    const int32_t axes = (int32_t)draw(r, 1, 3);
    int64_t x[5] = {PICK(r, 1, 2, 5, 17), PICK(r, 1, 7, 40, 400), 1, 1, 1};
    int64_t w[5] = {x[1], PICK(r, 1, 2, 13, 50)};
    for (int32_t i = 0; i < axes; i++) w[i + 2] = draw(r, 1, 4);
    add_tensor(n, r, axes + 2, x);
    add_tensor(n, r, axes + 2, w);
    if (chance(r, 60)) add_tensor(n, r, 1, w + 1);
    n->constant[1] = chance(r, 70);
    n->opset = 11;
    int64_t *strides = add_list(n, "strides", axes);
    for (int32_t i = 0; i < axes; i++) strides[i] = draw(r, 1, 3);
}

void make_winograd(random_node *n, random_source *r) {
    const int64_t x[4] = {draw(r, 1, 2), PICK(r, 32, 35, 48), draw(r, 12, 27), draw(r, 13, 30)};
    const int64_t w[4] = {PICK(r, 32, 41, 64), x[1], 3, 3};
    add_tensor(n, r, 4, x);
    add_tensor(n, r, 4, w);
    if (chance(r, 60)) add_tensor(n, r, 1, w);
    n->constant[1] = true;
    n->opset = 11;
    n->tolerance = 1e-3f; /* sums of some hundred numbers below 1 are off by up to 5e-5 */
    if (chance(r, 70)) {
        int64_t *pads = add_list(n, "pads", 4);
        for (int32_t i = 0; i < 4; i++) pads[i] = draw(r, 0, 2);
    }
}

static void add_pool(random_node *n, random_source *r, bool bytes) {
    const int32_t axes = (int32_t)draw(r, 1, 2);
    int64_t x[4] = {draw(r, 1, 2), PICK(r, 16, 21, 48)};
    int64_t *kernel = add_list(n, "kernel_shape", axes);
    for (int32_t i = 0; i < axes; i++) {
        kernel[i] = draw(r, 1, 4);
        x[i + 2] = axes == 1 ? draw(r, 9, 60) : draw(r, 9, 20);
    }
    if (bytes)
        add_integers(n, r, byte_type(r), axes + 2, x);
    else
        add_tensor(n, r, axes + 2, x);
    make_window(n, r, axes, kernel);
    n->opset = 19;
    if (chance(r, 40)) add_int(n, "ceil_mode", 1);
}

void make_blocked_max_pool(random_node *n, random_source *r) {
    add_pool(n, r, false);
}

void make_blocked_average_pool(random_node *n, random_source *r) {
    add_pool(n, r, false);
    if (chance(r, 50)) add_int(n, "count_include_pad", 1);
}

void make_blocked_global_pool(random_node *n, random_source *r) {
    const int64_t x[4] = {draw(r, 1, 2), PICK(r, 16, 21, 48), draw(r, 1, 20), draw(r, 1, 20)};
    add_tensor(n, r, (int32_t)draw(r, 3, 4), x);
    n->opset = 1;
}

static void make_picture_mean(random_node *n, random_source *r, bool keeps) {
    const bool picture = chance(r, 70), from_end = chance(r, 50);
    const int64_t x[4] = {draw(r, 1, 2), PICK(r, 16, 21, 48), draw(r, 1, 20), draw(r, 1, 20)};
    add_tensor(n, r, picture ? 4 : 3, x);
    int64_t *axes = add_list(n, "axes", picture ? 2 : 1);
    for (int32_t i = 0; i <= picture; i++) axes[i] = from_end ? i - 1 - picture : i + 2;
    add_int(n, "keepdims", keeps);
    n->opset = 13;
    n->tolerance = 1e-6f;
}

void make_kept_mean(random_node *n, random_source *r) {
    make_picture_mean(n, r, true);
}

void make_dropped_mean(random_node *n, random_source *r) {
    make_picture_mean(n, r, false);
}

void make_blocked_batch_norm(random_node *n, random_source *r) {
    const int64_t x[5] = {draw(r, 0, 2), PICK(r, 16, 21, 48), draw(r, 1, 9), draw(r, 1, 9), draw(r, 1, 3)};
    add_tensor(n, r, (int32_t)draw(r, 3, 5), x);
    for (int32_t i = 1; i <= 4; i++) add_tensor(n, r, 1, x + 1);
    for (int64_t c = 0; c < x[1]; c++) ((float *)n->inputs[4].data)[c] = (float)draw(r, 1, 16) / 4;
    n->opset = 15;
    n->tolerance = 1e-5f;
}

void make_channel_pair(random_node *n, random_source *r) {
    const int64_t x[4] = {draw(r, 1, 2), PICK(r, 16, 21, 48), draw(r, 2, 9), draw(r, 2, 9)};
    const int64_t list[4] = {chance(r, 50) ? 1 : x[0], x[1], 1, 1};
    const bool list_first = chance(r, 30);
    add_tensor(n, r, 4, list_first ? list : x);
    add_tensor(n, r, 4, list_first ? x : list);
    n->opset = 13;
}

void make_blocked_concat(random_node *n, random_source *r) {
    int64_t x[4] = {draw(r, 1, 2), 0, draw(r, 1, 7), draw(r, 1, 7)};
    const int32_t rank = (int32_t)draw(r, 3, 4), count = (int32_t)draw(r, 1, 4);
    for (int32_t i = 0; i < count; i++) {
        x[1] = 16 * draw(r, 1, 3) + (i + 1 == count ? draw(r, 0, 15) : 0);
        add_tensor(n, r, rank, x);
    }
    add_int(n, "axis", chance(r, 50) ? 1 : 1 - rank);
    n->opset = 13;
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

/* A scale and a zero point, of which so many of a hundred are not 0. */
static void add_scale(random_node *n, random_source *r, tort_type type, int32_t rank, const int64_t *dims,
                      int32_t zero_points) {
    const tort_tensor *scale = add_buffer(n, TORT_FLOAT, rank, dims);
    for (int64_t i = 0; i < tort_count(scale); i++)
        ((float *)scale->data)[i] = chance(r, 3) ? 0x1p-20f : (float)draw(r, 1, 40) / 1024;
    add_integers(n, r, type, rank, dims);
    const tort_tensor *zero = &n->inputs[n->input_count - 1];
    if (!chance(r, zero_points)) memset(zero->data, 0, (size_t)tort_count(zero));
}

/* Scales of 2^-20 take doubles, zero points of W are seldom. */
static void add_linear_operands(random_node *n, random_source *r, int32_t axes, int64_t channels, int64_t filters,
                                int64_t group, tort_type w_type) {
    const tort_type x_type = byte_type(r);
    int64_t x[5] = {draw(r, 1, 2), channels}, w[5] = {filters, channels / group};
    const bool one = chance(r, 30);
    for (int32_t i = 2; i < axes + 2; i++) {
        w[i] = one || chance(r, 20) ? 1 : draw(r, 1, axes == 3 ? 2 : 5);
        x[i] = axes == 3 ? draw(r, 4, 6) : axes == 1 ? draw(r, 9, 90) : draw(r, 9, 20);
    }
    add_integers(n, r, x_type, axes + 2, x);
    add_scale(n, r, x_type, 0, x, 80);
    add_integers(n, r, w_type, axes + 2, w);
    add_scale(n, r, w_type, (int32_t)draw(r, 0, 1), w, 20);
    add_scale(n, r, x_type, 0, x, 80);
    if (chance(r, 60)) add_integers(n, r, TORT_INT32, 1, w);
    if (n->input_count == 9 && chance(r, 20)) ((int32_t *)n->inputs[8].data)[0] = chance(r, 50) ? INT32_MAX : INT32_MIN;
    n->constant[3] = n->constant[5] = true;
    n->opset = 10;
    add_int(n, "group", group);
    if (chance(r, 80)) make_window(n, r, axes, w + 2);
}

void make_blocked_linear_conv(random_node *n, random_source *r) {
    add_linear_operands(n, r, (int32_t)draw(r, 1, 3), PICK(r, 16, 19, 24, 40), PICK(r, 8, 13, 16, 40, 64, 70), 1,
                        TORT_INT8);
}

void make_first_linear_conv(random_node *n, random_source *r) {
    add_linear_operands(n, r, (int32_t)draw(r, 1, 3), draw(r, 1, 15), PICK(r, 8, 13, 32, 70), 1, TORT_INT8);
}

void make_blocked_linear_depthwise(random_node *n, random_source *r) {
    const int64_t channels = PICK(r, 16, 17, 40, 64);
    add_linear_operands(n, r, (int32_t)draw(r, 1, 2), channels, channels, channels, byte_type(r));
}

void make_blocked_linear_quads(random_node *n, random_source *r) {
    const int64_t channels = PICK(r, 16, 17, 40, 64);
    add_linear_operands(n, r, (int32_t)draw(r, 1, 2), channels, channels, channels, TORT_INT8);
}

void make_blocked_byte_pool(random_node *n, random_source *r) {
    add_pool(n, r, true);
}
