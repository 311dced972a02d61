/* ranges.h - from statistics to the range that the 256 codes of each value cover. */
#ifndef TORT_QUANTIZE_RANGES_H
#define TORT_QUANTIZE_RANGES_H

#include "runtime/quantize/rules.h"
#include "runtime/quantize/statistics.h"

typedef struct tort_range {
    float low, high;
} tort_range;

/* Statistics of a net's values, and what each rule makes of them, computed when it is first asked for. */
typedef struct tort_ranges {
    const tort_rules *rules;
    tort_statistics **statistics; /* by value; NULL: none */
    tort_range *cuts;             /* by value: beyond, what reads the value does not change */
    tort_range *by_rule[TORT_RANGE_RULES];
    bool symmetric; /* ranges -x..x */
} tort_ranges;

/* Fills the range of each value that has statistics. Values that nodes in bytes must give one scale share the widest;
 * margin: outputs of the graph, and values of few elements, get 15 % more, as new inputs exceed what a few samples
 * reached. */
void tort_ranges_choose(tort_ranges *ranges, tort_range_rule rule, bool margin, const bool *bytes, tort_range *chosen,
                        tort_maker *maker);
/* Keeps in float32 a Concat of values whose ranges differ more than 8 times, if an output is made of it: one scale for
 * boxes of 0..320 and scores of 0..1 makes every score 0, which errors of the whole output hide. */
void tort_ranges_refuse_mixed(const tort_ranges *ranges, tort_rules *rules, tort_maker *maker);
/* Scale and zero point of a range, which always has 0 in it: padding, masks and ReLU must be exact. symmetric: of int8,
 * with zero 0; otherwise of uint8. */
void tort_range_codes(tort_range range, bool symmetric, float *scale, int32_t *zero);

#endif
