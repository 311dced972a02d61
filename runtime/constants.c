/* constants.c - the contents of values that never change: a weight of the model, or what folding made of it. */
#include "runtime/session_state.h"

tort_status tort_constant_acquire(const tort_session *session, int32_t value, const void **data, tort_error *error) {
    if (session->weights[value] >= 0) return tort_weight_acquire(session->model, session->weights[value], data, error);
    *data = session->constants[value].folded;
    return TORT_OK;
}

void tort_constant_release(const tort_session *session, int32_t value) {
    if (session->weights[value] >= 0) tort_weight_release(session->model, session->weights[value]);
}
