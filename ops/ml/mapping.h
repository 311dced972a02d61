/* mapping.h - params of LabelEncoder and CategoryMapper, for every provider. */
#ifndef TORT_OPS_ML_MAPPING_H
#define TORT_OPS_ML_MAPPING_H

#include "runtime/include/op.h"

typedef enum tort_mapping_kind {
    TORT_KEYS_TO_VALUES,
    TORT_KEYS_TO_INDEX, /* the value is the index of the key */
    TORT_INDEX_TO_VALUES
} tort_mapping_kind;

typedef struct tort_mapping_params {
    tort_mapping_kind kind;
    tort_type key_type, value_type;
    tort_list keys, values;
    tort_list text;          /* default if values are strings */
    unsigned char number[8]; /* default if values are numbers, one element of their type */
    bool first;              /* of equal keys the first wins */
} tort_mapping_params;

#endif
