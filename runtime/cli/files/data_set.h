/* data_set.h - folders of values: ONNX's test data (input_0.pb, output_0.pb ...), or files named after inputs. */
#ifndef TORT_CLI_FILES_DATA_SET_H
#define TORT_CLI_FILES_DATA_SET_H

#include "runtime/core/base/error.h"

bool cli_is_folder(const char *path);

/* Finds the file of input `index` in a folder: input_INDEX.pb, or NAME.npy (.pb, .raw, .npz, .png, .jpg, .jpeg), where
 * NAME is that of the input, also as cli_file_name_of has it. *path is NULL if there is none; the caller frees it.
 * TORT_E_INPUT if there are two. */
tort_status cli_data_set_find(const char *folder, int32_t index, const char *name, char **path, tort_error *error);

/* Refuses a folder with a WHAT_count.pb, "input" or "output": it belongs to another model. */
tort_status cli_data_set_check(const char *folder, const char *what, int32_t count, tort_error *error);

/* The error for a folder without a file of any input; `first` is the name of input 0. */
tort_status cli_data_set_is_empty(const char *folder, const char *first, tort_error *error);

#endif
