/* nhwc.h - the layout nhwc of the provider `firmware`. */
#ifndef TORT_KERNELS_FIRMWARE_NHWC_H
#define TORT_KERNELS_FIRMWARE_NHWC_H

#include "kernels/firmware/firmware.h"

enum { TORT_FIRMWARE_NHWC = 1 }; /* tort_kernel.layout.id */

extern const tort_layout tort_firmware_layouts[];

#endif
