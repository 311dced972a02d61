/* number_text.h - floats as text, for Cast; knows no tensors. runtime/core/base/locale.h reads them. */
#ifndef TORT_OPS_NUMBER_TEXT_H
#define TORT_OPS_NUMBER_TEXT_H

#include "runtime/include/tinyort.h"

#define TORT_NUMBER_TEXT 48 /* maximum number of bytes of a number as text */

/* Writes the shortest digits that give the value back when read as `type` (any float type): "0.1", "1e-05", "3.0";
 * "NaN", "INF" and "-INF". Positional from 1e-4 to below 1e16. Returns the length; the text is terminated. */
size_t tort_float_to_text(tort_type type, double value, char text[TORT_NUMBER_TEXT]);

#endif
