/* bands.h - steps that work in bands of rows (bands.h): chosen, checked, run. tort_row_banding is for the target of a
 * provider, whose kernels have rows (tort_kernel.rows). */
#ifndef TORT_RUNTIME_BANDS_BANDS_H
#define TORT_RUNTIME_BANDS_BANDS_H

#include "runtime/core/plan/planned.h"
#include "runtime/firmware/bands/order.h"

/* The members of tort_banding, which has their contracts. */
tort_status tort_bands_choose(tort_planned *planned, tort_error *error);
bool tort_bands_are_sound(const tort_plan *plan, int32_t index);

extern const tort_banding tort_row_banding;

#endif
