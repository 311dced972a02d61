/* axes.h - how many axes a list in a shape has room for: all that the host may need, or four where no call of a
 * compiled model has more, as most of the room would be zeros in flash. */
#ifndef TORT_FIRMWARE_CODE_AXES_H
#define TORT_FIRMWARE_CODE_AXES_H

#if defined(TINYORT_COMPILED) && !defined(TINYORT_MANY_AXES)
enum { TINYORT_AXES = 4 };
#else
enum { TINYORT_AXES = 8 };
#endif /* TINYORT_MANY_AXES */

#endif
