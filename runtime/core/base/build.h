/* build.h - what is in a build: the one thing that the core takes from above. It declares the description; a product
 * (runtime/build.c, or an application's own file) defines it, and with it names operators and providers. */
#ifndef TORT_RUNTIME_BASE_BUILD_H
#define TORT_RUNTIME_BASE_BUILD_H

/* A member that a product does without is NULL, and what it names is not linked. */
struct tort_build {
    /* Families of operators, each a table that ends with a row whose name is NULL; ends with NULL. */
    const struct tort_op *const *families;
    const struct tort_pattern *const *patterns;   /* tables of fusions, which end in the same way */
    const struct tort_flops *flops;               /* operators whose products are counted; ends with name NULL */
    const struct tort_refusal *refusals;          /* operators known by name alone; ends with domain NULL */
    const struct tort_provider *const *providers; /* ends with NULL */
    const struct tort_calls *calls;               /* lowered/bodies.h: runs the bodies of control flow */
    const struct tort_segmenting *segmenting;     /* providers/chain.h: for providers that compile segments */
};

extern const struct tort_build tort_build;

#endif
