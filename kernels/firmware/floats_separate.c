/* floats_separate.c - loops over floats for processors without a fused multiply-add. */
#include "kernels/firmware/code/separate.h"

#define FORM tort_firmware_floats_separate
#define STEP "tinyort_separate"

#include "kernels/firmware/floats_form.h"
