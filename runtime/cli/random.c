/* random.c - random values for inputs without a value (random.h). */
#include <math.h>
#include <string.h>

#include "ops/numeric.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/random.h"
#include "runtime/cli/opening.h"
#include "runtime/core/base/ascii.h"

bool cli_is_counted(tort_type type) {
    return tort_type_is_integer(type);
}

bool cli_can_be_random(tort_type type) {
    return tort_type_is_float(type) || tort_type_is_integer(type) || type == TORT_BOOL;
}

/* splitmix64: a seed gives the same numbers on every platform. */
static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static void fill(tort_tensor *tensor, uint64_t seed, cli_range range) {
    const bool real = tort_type_is_float(tensor->type);
    int64_t count = tort_count(tensor), integers[TORT_BLOCK];
    double reals[TORT_BLOCK];
    uint64_t state = seed;
    const uint64_t choices = (uint64_t)(range.high - range.low) + 1;
    for (int64_t first = 0; first < count; first += TORT_BLOCK) {
        int64_t length = count - first < TORT_BLOCK ? count - first : TORT_BLOCK;
        for (int64_t i = 0; i < length; i++) {
            uint64_t bits = next_random(&state);
            reals[i] = range.low + (double)(bits >> 40) * 0x1p-24 * (range.high - range.low);
            integers[i] = (int64_t)range.low + (int64_t)(bits % choices);
        }
        if (real)
            tort_store_doubles(tensor->type, tensor->data, first, length, reals);
        else
            tort_store_integers(tensor->type, tensor->data, first, length, integers);
    }
}

/* A target that a Reshape always accepts: -1, 1, 1 ... */
static void fill_target(tort_tensor *tensor) {
    int64_t count = tort_count(tensor);
    for (int64_t i = 0; i < count; i++) {
        const int64_t size = i ? 1 : -1;
        tort_store_integers(tensor->type, tensor->data, i, 1, &size);
    }
}

/* ---- ranges ------------------------------------------------------------------------------------------------------ */

/* Range of an integer type, limited to the integers that doubles hold exactly. */
static cli_range range_of_type(tort_type type) {
    const int bits = type == TORT_BOOL ? 1 : tort_type_bits(type), digits = bits - tort_type_is_signed(type);
    const double max = ldexp(1, digits < 53 ? digits : 53);
    return (cli_range){tort_type_is_signed(type) ? -max : 0, max - 1};
}

static tort_status asked_range(const cli_random_range *asked, const tort_tensor *tensor, cli_range *range,
                               tort_error *error) {
    *range = (cli_range){asked->low, asked->high};
    if (tort_type_is_float(tensor->type)) return TORT_OK;
    const cli_range whole = range_of_type(tensor->type);
    if (floor(asked->low) != asked->low || floor(asked->high) != asked->high || asked->low < whole.low ||
        asked->high > whole.high)
        return tort_fail(error, TORT_E_USAGE,
                         "--random %s=...: the input is %s, which takes whole numbers from %.0f to %.0f", asked->name,
                         tort_type_name(tensor->type), whole.low, whole.high);
    return TORT_OK;
}

static bool is_mask(const char *name) {
    for (; *name; name++)
        if (tort_same_start(name, "mask", 4)) return true;
    return false;
}

static cli_range usual_range(const tort_model *model, int32_t index, const char *name, tort_type type) {
    cli_range range = {0, 1};
    if (tort_type_is_float(type)) return range;
    if (cli_is_counted(type) && cli_range_of_input(model, index, &range)) {
        const cli_range whole = range_of_type(type);
        if (range.high > whole.high) range.high = whole.high;
        return range;
    }
    if (is_mask(name)) return (cli_range){1, 1};
    return type == TORT_BOOL || tort_type_bits(type) < 8 ? (cli_range){0, 1} : (cli_range){0, 9};
}

tort_status cli_fill_random(const cli_options *options, const tort_model *model, int32_t index, tort_tensor *tensor,
                            tort_error *error) {
    const char *name = cli_input(model, index).name;
    const cli_random_range *asked = NULL;
    for (int32_t i = 0; i < options->range_count; i++)
        if (!strcmp(options->ranges[i].name, name)) asked = &options->ranges[i];
    if (!asked && cli_is_counted(tensor->type) && tensor->rank == 1 && cli_is_reshape_target(model, index)) {
        fill_target(tensor);
        return TORT_OK;
    }
    cli_range range;
    tort_status status = asked ? asked_range(asked, tensor, &range, error) : TORT_OK;
    if (status) return status;
    if (!asked) range = usual_range(model, index, name, tensor->type);
    fill(tensor, options->seed * 1000003u + (uint64_t)index, range);
    return TORT_OK;
}
