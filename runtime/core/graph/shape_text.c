/* shape_text.c - writes a dimension as text for users: "batch*(seq+1)".
 *
 * Read first: shape.h. */
#include <stdarg.h>
#include <stdio.h>

#include "runtime/core/graph/shape.h"
#include "runtime/core/base/locale.h"

typedef struct writer {
    const tort_dims *dims;
    char *buffer;
    size_t size, used;
} writer;

static void put(writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(writer *w, const char *format, ...) {
    if (w->used + 1 >= w->size) return;
    va_list arguments;
    va_start(arguments, format);
    int length = tort_vsnprintf(w->buffer + w->used, w->size - w->used, format, arguments);
    va_end(arguments);
    if (length > 0) w->used += (size_t)length;
}

enum { WEAK, SUM, PRODUCT }; /* precedence of the expression around */

static void write_dim(writer *w, tort_dim d, int around);

/* Writes a term of a sum; with a sign unless it is the first and positive: "-2*h", "+1". */
static void write_term(writer *w, tort_dim d, bool first) {
    tort_scalar s = tort_scalar_of_operand(w->dims, d), factor = tort_scalar_known(1);
    const tort_dim_expr *e = s.symbolic ? tort_dim_expression(w->dims, d) : NULL;
    if (e && e->op == TORT_DIM_MUL) factor = tort_scalar_of_operand(w->dims, e->b);
    bool negative = s.symbolic ? !factor.symbolic && factor.value < 0 : s.value < 0;
    if (!first && !negative) put(w, "+");
    write_dim(w, d, first ? WEAK : SUM);
}

static void write_product(writer *w, const tort_dim_expr *e) {
    tort_scalar factor = tort_scalar_of_operand(w->dims, e->b);
    if (!factor.symbolic && factor.value == -1)
        put(w, "-");
    else if (!factor.symbolic)
        put(w, "%lld*", (long long)factor.value);
    write_dim(w, e->a, SUM);
    if (!factor.symbolic) return;
    put(w, "*");
    write_dim(w, e->b, PRODUCT);
}

static void write_expression(writer *w, const tort_dim_expr *e) {
    if (e->op == TORT_DIM_ADD) {
        write_term(w, e->a, true);
        write_term(w, e->b, false);
    } else if (e->op == TORT_DIM_MUL) {
        write_product(w, e);
    } else if (e->op == TORT_DIM_FLOORDIV || e->op == TORT_DIM_TRUNCDIV) {
        write_dim(w, e->a, PRODUCT);
        put(w, "/%lld", (long long)e->b);
    } else {
        put(w, e->op == TORT_DIM_MIN ? "min(" : "max(");
        write_dim(w, e->a, WEAK);
        put(w, ", ");
        write_dim(w, e->b, WEAK);
        put(w, ")");
    }
}

static void write_dim(writer *w, tort_dim d, int around) {
    tort_scalar s = tort_scalar_of_operand(w->dims, d);
    if (!s.symbolic) {
        put(w, "%lld", (long long)s.value);
        return;
    }
    const tort_dim_expr *e = tort_dim_expression(w->dims, d);
    if (e->op == TORT_DIM_SYMBOL) {
        if (e->name)
            put(w, "%s", e->name);
        else
            put(w, "?%lld", (long long)(-1 - d));
        return;
    }
    int strength = e->op == TORT_DIM_ADD ? SUM : PRODUCT;
    bool call = e->op == TORT_DIM_MIN || e->op == TORT_DIM_MAX, wrapped = !call && around >= strength;
    if (wrapped) put(w, "(");
    write_expression(w, e);
    if (wrapped) put(w, ")");
}

const char *tort_dim_text(const tort_dims *dims, tort_dim d, char *buffer, size_t size) {
    if (size == 0) return buffer;
    buffer[0] = 0;
    write_dim(&(writer){dims, buffer, size, 0}, d, WEAK);
    return buffer;
}
