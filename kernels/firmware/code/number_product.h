/* number_product.h - the product of two numbers as a float. */
#ifndef TORT_FIRMWARE_CODE_NUMBER_PRODUCT_H
#define TORT_FIRMWARE_CODE_NUMBER_PRODUCT_H

#include "kernels/firmware/code/number.h"

static tinyort_number tinyort_number_product(tinyort_number a, tinyort_number b) {
    a.m *= b.m;
    a.e += b.e;
    return tinyort_number_round(a, 24);
}

#endif
