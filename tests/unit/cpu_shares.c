/* Tests of how threads share a convolution (kernels/cpu/cpu.h, blocked_band.h): no thread has much more to do than
 * another, and a picture is cut by pixels unless that would be uneven. */
#include <criterion/criterion.h>
#include <string.h>

#include "kernels/cpu/blocked_band.h"

/* Of all products, what the thread with the most of them makes, times `threads`. */
static double largest_share(const tort_cpu_products *products, tort_cpu_split split, int32_t threads) {
    int64_t largest = 0;
    for (int32_t part = 0; part < split.pixel_parts * split.filter_parts; part++) {
        int64_t pixel, end_pixel, filter, end_filter;
        tort_cpu_share(products->pixels, 1, part % split.pixel_parts, split.pixel_parts, &pixel, &end_pixel);
        tort_cpu_share(products->filters, 1, part / split.pixel_parts, split.filter_parts, &filter, &end_filter);
        largest = tort_max(largest, (end_pixel - pixel) * (end_filter - filter));
    }
    return (double)(largest * threads) / (double)(products->pixels * products->filters);
}

/* Windows of one pixel over a square picture. */
static void flat_bands(int64_t side, int64_t channels, tort_bands *bands) {
    tort_sliding window = {.axes = 2};
    for (int i = 0; i < 2; i++) {
        window.input[i] = window.output[i] = side;
        window.kernel[i] = window.strides[i] = window.dilations[i] = 1;
    }
    const tort_band_source source = {
        .channels = channels, .element = sizeof(float), .lanes = TORT_LANES, .pixels = 14, .at_once = 65536};
    cr_assert(tort_bands_init(bands, &window, &source));
}

Test(cpu_shares, flat_pictures_of_all_sizes_are_shared_evenly) {
    static const int64_t sides[] = {7, 8, 13, 14, 17, 28, 35, 56};
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++)
        for (int64_t tiles = 1; tiles <= 33; tiles += 4)
            for (int32_t threads = 2; threads <= 4; threads++) {
                tort_bands bands;
                flat_bands(sides[i], 256, &bands);
                const tort_cpu_products products = {.pixels = bands.rows, .filters = tiles};
                const double share = largest_share(&products, tort_cpu_split_of(&products, threads), threads);
                cr_assert_leq(share, 1.1, "%d threads, %lld pixels wide, %lld tiles of filters: %.2f", threads,
                              (long long)sides[i], (long long)tiles, share);
            }
}

/* A thread that begins anywhere in a flat picture makes all that is left of its share, some tiles at a time. */
Test(cpu_shares, bands_of_a_flat_share_cover_it_once) {
    static float picture[16 * 13 * 13 * TORT_LANES];
    const tort_call call = {0};
    tort_bands bands;
    tort_band band;
    flat_bands(13, 256, &bands);
    bands.call = &call;
    bands.x = picture;
    int64_t at = 85;
    for (; tort_bands_next(&bands, at, 169, NULL, &band); at += band.rows) {
        cr_assert_eq(band.row, at);
        cr_assert_eq(band.x, picture + at * TORT_LANES);
        int64_t made = 0;
        while (made < band.rows) made += tort_bands_together(&bands, &band, made);
        cr_assert_eq(made, band.rows);
    }
    cr_assert_eq(at, 169);
}

Test(cpu_shares, rows_are_shared_by_filters_where_they_are_few) {
    const tort_cpu_products few = {.pixels = 7, .filters = 16, .pixel_cost = 2, .filter_cost = 2};
    const tort_cpu_products many = {.pixels = 56, .filters = 4, .pixel_cost = 2};
    const tort_cpu_split of_few = tort_cpu_split_of(&few, 2), of_many = tort_cpu_split_of(&many, 2);
    cr_assert_eq(of_few.filter_parts, 2);
    cr_assert_eq(of_many.pixel_parts, 2);
}
