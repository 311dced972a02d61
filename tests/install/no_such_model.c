/* no_such_model.c - an application that asks for a model that is not there, and reads the error. */
#include <string.h>
#include <tinyort.h>

int main(void) {
    tort_error error;
    tort_model *model = NULL;
    tort_status status = tort_model_load(NULL, "models/no_such.onnx", NULL, &model, &error);
    return status == TORT_E_IO && model == NULL && strstr(error.msg, "no_such.onnx") ? 0 : 1;
}
