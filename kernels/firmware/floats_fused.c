/* floats_fused.c - loops over floats for processors with a fused multiply-add. */
#include "kernels/firmware/code/fused.h"

#define FORM tort_firmware_floats_fused
#define STEP "tinyort_fused"

#include "kernels/firmware/floats_form.h"
