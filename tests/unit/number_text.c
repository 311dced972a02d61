/* number_text.c - numbers as text and back: every float16, and cases that a printf would get wrong. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "ops/number_text.h"
#include "ops/numeric.h"
#include "runtime/core/base/locale.h"

static tort_string text_of(const char *text) {
    return (tort_string){text, strlen(text)};
}

Test(number_text, every_float16_comes_back) {
    for (uint32_t code = 0; code < 0x10000; code++) {
        char text[TORT_NUMBER_TEXT];
        double value = tort_decode_float(TORT_FLOAT16, code), back;
        size_t length = tort_float_to_text(TORT_FLOAT16, value, text);
        cr_assert_eq(length, strlen(text));
        cr_assert(tort_read_double((tort_string){text, length}, &back), "%s", text);
        if (isnan(value)) {
            cr_assert(isnan(back), "%s", text);
        } else {
            cr_assert_eq(tort_encode_float(TORT_FLOAT16, back, false), code, "%04x is %s", code, text);
        }
    }
}

Test(number_text, floats_are_written_with_the_fewest_digits) {
    static const struct {
        tort_type type;
        double value;
        const char *text;
    } cases[] = {
        {TORT_FLOAT, 0.1f, "0.1"},
        {TORT_FLOAT, 3.14159274f, "3.1415927"},
        {TORT_DOUBLE, 0.1, "0.1"},
        {TORT_FLOAT, 1, "1.0"},
        {TORT_FLOAT, -0.0, "-0.0"},
        {TORT_DOUBLE, 1e300, "1e+300"},
        {TORT_FLOAT, 1e-5f, "1e-05"},
        {TORT_FLOAT, 314.15926f, "314.15927"},
        {TORT_DOUBLE, 5e-324, "5e-324"},
        {TORT_FLOAT, INFINITY, "INF"},
        {TORT_FLOAT, -INFINITY, "-INF"},
        {TORT_FLOAT, NAN, "NaN"},
        {TORT_BFLOAT16, 65504, "65500.0"},
        {TORT_FLOAT, 0.0001234f, "0.0001234"},
        {TORT_DOUBLE, 1e15, "1000000000000000.0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[TORT_NUMBER_TEXT];
        tort_float_to_text(cases[i].type, cases[i].value, text);
        cr_assert_str_eq(text, cases[i].text);
    }
}

Test(number_text, what_is_no_number_is_refused) {
    static const char *const wrong[] = {"", " ", "hello", "1.5.2", "0x10", "1 2", "--1", "1e", "+"};
    double value;
    int64_t integer;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cr_assert_not(tort_read_double(text_of(wrong[i]), &value), "\"%s\"", wrong[i]);
        cr_assert_not(tort_read_int64(text_of(wrong[i]), &integer), "\"%s\"", wrong[i]);
    }
    cr_assert_not(tort_read_double((tort_string){"1\0002", 3}, &value));
    cr_assert(tort_read_double(text_of(" +iNf "), &value) && isinf(value));
    cr_assert(tort_read_double(text_of("1E8"), &value) && value == 1e8);
    cr_assert(tort_read_int64(text_of("-9223372036854775808"), &integer) && integer == INT64_MIN);
}
