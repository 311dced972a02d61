/* code.c - the headers of kernels/firmware/code as text: what `tinyort compile` prints is what the rows run. The build
 * makes a string, tort_code_NAME, of each header NAME.h. */
#include "kernels/firmware/firmware.h"

#include "kernels/firmware/code.inc"
