/* number_text.h - numbers to and from text, the same under every locale. For Cast; knows no tensors. */
#ifndef TORT_OPS_NUMBER_TEXT_H
#define TORT_OPS_NUMBER_TEXT_H

#include "runtime/tinyort.h"

#define TORT_NUMBER_TEXT 48 /* maximum number of bytes of a number as text */

/* Writes the shortest digits that give the value back when read as `type` (any float type): "0.1", "1e-05", "3.0";
 * "NaN", "INF" and "-INF". Positional from 1e-4 to below 1e16. Returns the length; the text is terminated. */
size_t tort_float_to_text(tort_type type, double value, char text[TORT_NUMBER_TEXT]);

/* Reads a decimal number, "inf" or "nan" in any case, with blanks around it. False if it is anything else. */
bool tort_text_to_double(tort_string text, double *value);
/* Reads an integer of 64 bits; larger ones wrap. False if it has anything but a sign and digits. */
bool tort_text_to_int64(tort_string text, int64_t *value);

#endif
