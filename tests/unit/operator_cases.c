/* operator_cases.c - runs single operators on literal inputs: old versions and their old forms above all, which ONNX's
 * own cases (all of the newest version) do not reach, and fused ones, of which it has none. The cases are lines of text
 * (operator_case.h) in the tables beside this file.
 *
 * Each runs in every way that inputs can come (enum input_form), so that shapes are planned and inferred from live
 * data. An operator that has a case needs one for each row; of other domains than the main one all need one, but for
 * those over values that are not tensors.
 * operator_refusal_table.c has nodes that must be refused. */
#include <criterion/criterion.h>
#include <string.h>

#include "runtime/core/base/build.h"
#include "tests/unit/operator_case.h"

extern const char *const operator_refusals[], *const ml_refusals[], *const microsoft_attention_refusals[];

#define TABLE(name) extern const char *const name[];
#include "tests/cases/refusals.inc"
#undef TABLE

#define TABLE(name) name,
static const char *const *const refusal_tables[] = {
#include "tests/cases/refusals.inc"
    operator_refusals,
    ml_refusals,
    microsoft_attention_refusals,
    NULL,
};

static void check_outcome(const char *text, const operator_case *c, input_form form, tort_status status,
                          const char *message) {
    bool in_model = c->input_count > 1 ? form == CONSTANTS : form == REVERSED;
    tort_status wanted = in_model && c->refusal == TORT_E_RUN && !c->run_alone ? TORT_E_MODEL : c->refusal;
    cr_expect_eq(status, wanted, "%s (form %d): %s, not %s: %s", text, (int)form, tort_status_name(status),
                 tort_status_name(wanted), message);
    if (status) cr_expect(strstr(message, c->message), "%s (form %d) says: %s", text, (int)form, message);
}

static void run_case(const char *text, operator_case *c, input_form form) {
    onnx_bytes bytes = {0};
    tort_error error = {0};
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_tensor inputs[MAX_TENSORS + 1], outputs[MAX_TENSORS] = {{0}};
    int32_t input_count = 0, output_count = 0;
    tort_session_options options = {.struct_size = sizeof options, .unfolded = form != REVERSED};
    operator_case_write(&bytes, c, form);
    tort_tensor shape = {
        .type = TORT_INT64, .rank = 1, .dims = {c->inputs[0].tensor.rank}, .data = c->inputs[0].tensor.dims};
    for (int32_t i = 0; i < c->input_count; i++) {
        if (!tort_present(&c->inputs[i].tensor) || operator_case_in_model(c, i, form)) continue;
        inputs[input_count++] = c->inputs[i].tensor;
        if (form == COMPUTED && i == 0) inputs[input_count++] = shape;
    }
    for (int32_t i = 0; i < c->output_count; i++) output_count += operator_case_has_output(c, i);
    tort_status status = tort_model_load_buffer(NULL, bytes.data, bytes.size, NULL, &model, &error);
    if (!status) status = tort_session_create(NULL, model, &options, &session, &error);
    if (!status) status = tort_context_create(session, &context, &error);
    if (!status) status = tort_context_run(context, inputs, input_count, outputs, output_count, &error);
    if (status == TORT_E_INPUT && c->refusal == TORT_E_MODEL && context) status = TORT_E_MODEL; /* found by a run */
    check_outcome(text, c, form, status, error.msg);
    for (int32_t i = 0, at = 0; !status && i < c->output_count; i++)
        if (tort_present(&c->outputs[i].tensor)) operator_case_compare(text, &outputs[at++], &c->outputs[i]);
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
    onnx_free(&bytes);
}

Test(operator_cases, every_case_gives_the_stated_outputs) {
    static operator_case c;
    for (int32_t t = 0; operator_tables[t]; t++) {
        for (int32_t i = 0; operator_tables[t][i]; i++) {
            operator_case_read(operator_tables[t][i], &c);
            for (input_form form = LIVE; form < FORMS; form++)
                if (form != COMPUTED || operator_case_can_be_computed(&c)) run_case(operator_tables[t][i], &c, form);
        }
    }
}

Test(operator_cases, what_must_be_refused_is_refused_by_name) {
    static operator_case c;
    for (int32_t t = 0; refusal_tables[t]; t++) {
        for (int32_t i = 0; refusal_tables[t][i]; i++) {
            operator_case_read(refusal_tables[t][i], &c);
            cr_assert(c.refusal);
            for (input_form form = LIVE; form <= CONSTANTS; form++) run_case(refusal_tables[t][i], &c, form);
        }
    }
}

static bool has_case(const tort_op *row, int *cases_of_operator) {
    static operator_case c;
    bool found = false;
    *cases_of_operator = 0;
    for (int32_t t = 0; operator_tables[t]; t++) {
        for (int32_t i = 0; operator_tables[t][i]; i++) {
            operator_case_read(operator_tables[t][i], &c);
            if (strcmp(c.name, row->name) || strcmp(c.domain, row->domain)) continue;
            ++*cases_of_operator;
            found |= row->since <= c.opset && c.opset <= row->until;
        }
    }
    return found;
}

Test(operator_cases, an_operator_with_cases_has_one_for_each_row) {
    for (const tort_op *const *family = tort_build.families; *family; family++)
        for (const tort_op *row = *family; row->name; row++) {
            int cases;
            bool found = has_case(row, &cases);
            const bool needed = *row->domain && !(row->flags & (TORT_OP_VALUES | TORT_OP_CONTROL));
            cr_expect(found || (cases == 0 && !needed), "%s-%d has no case", row->name, row->since);
        }
}
