/* segments_refused.c - tests of segment.c and place.c: what becomes of nodes that are in no segment and what is told of
 * them; pins, --strict, fusions beside segments. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "runtime/include/tinyort_plan.h"
#include "tests/report_of.h"
#include "tests/unit/segment_models.h"

TestSuite(segments_refused, .init = make_engines);

/* ---- refused ----------------------------------------------------------------------------------------------------- */

Test(segments_refused, refused_nodes_go_on_along_the_chain_with_the_reason) {
    opened o;
    open_segments(&o, build_chain, "refusing,cpu", (tort_session_options){0});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    cr_expect_eq(o.report->node_count, 3);
    const tort_report_verdict *verdict = segment_verdict(&o, "sum");
    cr_expect_str_eq(verdict->provider, "refusing");
    cr_expect_str_eq(verdict->kernel, "compiled");
    cr_expect_eq(verdict->code, TORT_NO_MEMORY);
    cr_expect_str_eq(verdict->message, "3 nodes are too many");
    cr_expect_str_eq(verdict->cure, "ask another time");
    cr_expect(segment_node(&o, "sum")->fell_back);
    cr_expect_eq(o.report->fallen_back, 3);
    opened_close(&o);
    expect_as_cpu(build_chain, "refusing,cpu", 1);
}

Test(segments_refused, where_nobody_takes_a_refused_node_it_is_an_error_with_the_reason) {
    opened o;
    open_segments(&o, build_chain, "refusing", (tort_session_options){0});
    cr_expect_eq(o.status, TORT_E_PLACEMENT);
    cr_expect(
        strstr(o.error.msg, "3 nodes with no provider: \"relu\" (Relu-14) refusing: NO_MEMORY 3 nodes are too many"),
        "%s", o.error.msg);
    cr_assert_not_null(o.report);
    cr_expect_eq(o.report->unplaced, 3);
    opened_close(&o);
    open_segments(&o, build_diamond, "without", (tort_session_options){0});
    cr_expect_eq(o.status, TORT_E_PLACEMENT);
    cr_expect(strstr(o.error.msg, "5 nodes with no provider"), "exp is in the same list: %s", o.error.msg);
    cr_expect(strstr(o.error.msg, "without compiles no segments"), "%s", o.error.msg);
    opened_close(&o);
}

/* Two engines: what the first refuses, the second can compile. */
Test(segments_refused, the_next_engine_of_the_chain_is_asked) {
    opened o;
    open_segments(&o, build_chain, "refusing,second", (tort_session_options){0});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    cr_assert_eq(o.report->node_count, 1);
    const tort_report_node *node = o.report->nodes[0];
    cr_expect_str_eq(node->provider, "second");
    cr_assert_eq(node->verdict_count, 1, "said of all three, once");
    cr_expect_str_eq(node->verdicts[0]->message, "3 nodes are too many");
    cr_expect(node->fell_back);
    opened_close(&o);
    expect_as_cpu(build_chain, "refusing,second", 1);
}

Test(segments_refused, a_row_with_a_kernel_of_its_own_stays_where_it_is) {
    opened o;
    open_segments(&o, build_diamond, "either,cpu", (tort_session_options){0});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    cr_expect_str_eq(segment_node(&o, "relu")->provider, "either");
    cr_expect_str_eq(segment_node(&o, "relu")->kernel, "relu");
    cr_expect_eq(segment_verdict(&o, "relu")->code, TORT_NO_SHAPE);
    cr_expect_not(segment_node(&o, "relu")->fell_back);
    cr_expect_str_eq(segment_node(&o, "double")->kernel, "mul");
    cr_expect_str_eq(segment_verdict(&o, "double")->message, "the kernel mul runs its node by itself");
    expect_from(&o, "end", "join end");
    opened_close(&o);
}

Test(segments_refused, a_value_whose_shape_depends_on_data_is_in_none) {
    opened o;
    tort_tensor outputs[2];
    open_segments(&o, build_unknown, "engine,cpu", (tort_session_options){0});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    cr_expect_str_eq(segment_node(&o, "first")->provider, "cpu");
    cr_expect_eq(segment_verdict(&o, "first")->code, TORT_NO_DYNAMIC);
    cr_expect(strstr(segment_verdict(&o, "last")->message, "depends on data"));
    expect_from(&o, "other", "relu other");
    cr_expect_eq(run_segments(&o, 2, outputs, 2), TORT_OK, "%s", o.error.msg);
    opened_close(&o);
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

Test(segments_refused, a_node_pinned_elsewhere_is_in_none) {
    static const char *const pins[] = {"sum=cpu"};
    opened o;
    open_segments(&o, build_long, "engine,cpu", (tort_session_options){0});
    expect_from(&o, "b", "a b c");
    opened_close(&o);
    static const char *const b_pin[] = {"b=cpu"};
    open_segments(&o, build_long, "engine,cpu", (tort_session_options){.pins = b_pin, .pin_count = 1});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    cr_expect_str_eq(segment_node(&o, "b")->provider, "cpu");
    cr_expect(segment_node(&o, "b")->pinned);
    cr_expect_str_eq(segment_node(&o, "a")->provider, "cpu", "a single one is refused");
    cr_expect_str_eq(segment_verdict(&o, "a")->provider, "engine");
    opened_close(&o);
    open_segments(&o, build_chain, "engine,cpu", (tort_session_options){.pins = pins, .pin_count = 1});
    cr_expect_eq(o.report->pinned, 1);
    cr_expect_eq(o.report->node_count, 3);
    opened_close(&o);
}

Test(segments_refused, a_pin_to_the_engine_is_kept) {
    static const char *const pins[] = {"sum=engine"};
    opened o;
    open_segments(&o, build_chain, "engine,cpu", (tort_session_options){.pins = pins, .pin_count = 1});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    cr_expect_eq(o.report->node_count, 1);
    cr_expect(o.report->nodes[0]->pinned);
    opened_close(&o);
    static const char *const exp[] = {"sum=refusing"};
    open_segments(&o, build_chain, "refusing,cpu", (tort_session_options){.pins = exp, .pin_count = 1});
    cr_expect_eq(o.status, TORT_E_PLACEMENT, "it cannot be there, and may not be elsewhere");
    cr_expect(strstr(o.error.msg, "1 node with no provider: \"sum\""), "%s", o.error.msg);
    opened_close(&o);
}

Test(segments_refused, strict_looks_at_every_node_of_a_segment) {
    static const char *const all[] = {"relu=engine", "sum=engine", "square=engine"};
    static const struct {
        const char *allow;
        int32_t pins;
        bool passes;
    } cases[] = {{NULL, 0, false}, {"Segment", 0, false}, {"Add,Relu", 0, false}, {"Add,Relu,Mul", 0, true},
                 {NULL, 2, false}, {"Mul", 2, true},      {NULL, 3, true},        {"Mul,Relu", 2, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        opened o;
        open_segments(
            &o, build_chain, "empty,engine",
            (tort_session_options){.strict = true, .allow = cases[i].allow, .pins = all, .pin_count = cases[i].pins});
        cr_expect_eq(o.status, cases[i].passes ? TORT_OK : TORT_E_PLACEMENT, "case %zu: %s", i, o.error.msg);
        if (!cases[i].passes)
            cr_expect(strstr(o.error.msg, "strict: 1 node is not on empty: \"relu\" (tinyort::Segment-1)"), "%s",
                      o.error.msg);
        cr_expect_eq(o.report->nodes[0]->fell_back, cases[i].pins < 3, "case %zu", i);
        opened_close(&o);
    }
    opened o;
    open_segments(&o, build_chain, "engine,cpu", (tort_session_options){.strict = true});
    cr_expect_eq(o.status, TORT_OK, "%s", o.error.msg);
    opened_close(&o);
}

Test(segments_refused, fusions_are_another_thing) {
    opened o;
    open_segments(&o, build_chain, "engine", (tort_session_options){.fusions_off = "*"});
    cr_expect_eq(o.report->node_count, 1);
    opened_close(&o);
    open_segments(&o, build_product, "engine,cpu", (tort_session_options){0});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    cr_assert_eq(o.report->node_count, 1, "what the engine refused is fused where it went");
    cr_expect_str_eq(o.report->nodes[0]->op, "FusedMatMul");
    opened_close(&o);
    expect_as_cpu(build_product, "engine,cpu", 1);
}

static void note_value(void *ud, int32_t node, const char *value, const tort_tensor *tensor) {
    (void)tensor;
    char *text = ud;
    sprintf(text + strlen(text), "%d:%s ", node, value);
}

Test(segments_refused, an_observer_is_told_of_the_node_inside_that_makes_a_value) {
    opened o;
    tort_tensor outputs[2];
    char text[200] = "";
    open_segments(&o, build_two, "engine", (tort_session_options){.unfolded = true});
    cr_assert_eq(tort_context_create(o.session, &o.context, &o.error), TORT_OK);
    tort_context_observe(o.context, note_value, text);
    cr_expect_eq(run_segments(&o, 2, outputs, 2), TORT_OK, "%s", o.error.msg);
    cr_expect_str_eq(text, "1:sum_out 2:square_out ");
    opened_close(&o);
}

/* ---- saved plans ------------------------------------------------------------------------------------------------- */

typedef struct saved {
    uint8_t bytes[1 << 16];
    size_t size;
} saved;

static int keep_bytes(void *ud, const void *bytes, size_t size) {
    saved *to = ud;
    if (size > sizeof to->bytes - to->size) return -1;
    memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
    return 0;
}

Test(segments_refused, a_saved_plan_says_why_nodes_are_in_no_segment) {
    static saved file;
    const tort_writer writer = {.struct_size = sizeof writer, .write = keep_bytes, .ud = &file};
    opened o;
    open_segments(&o, build_chain, "refusing,cpu", (tort_session_options){0});
    cr_assert_eq(tort_session_save_writer(o.session, &writer, &o.error), TORT_OK, "%s", o.error.msg);
    opened_close(&o);
    const tort_plan_options options = {.struct_size = sizeof options, .providers = segment_providers};
    o = (opened){.session = NULL};
    cr_assert_eq(tort_session_load_buffer(NULL, file.bytes, file.size, &options, &o.session, &o.error), TORT_OK, "%s",
                 o.error.msg);
    o.report = report_of(o.session);
    cr_expect_str_eq(segment_verdict(&o, "sum")->message, "3 nodes are too many");
    opened_close(&o);
}
