/* topk.c - cases of TopK. */
#include "tests/cases/cases.h"

const char *const tort_cases_topk[] = {
    "TopK 9; k=2; f32[2,4] 3 1 3 2 0 -1 5 5 -> f32[2,2] 3 3 5 5; i64[2,2] 0 2 2 3",
    "TopK 10; axis=1; f32[2,4] 3 1 3 2 0 -1 5 5; i64[1] 3 -> f32[2,3] 3 3 2 5 5 0; i64[2,3] 0 2 3 2 3 0",
    "TopK 23; largest=0; f32[2,4] 3 1 3 2 0 -1 5 5; i64[1] 2 -> f32[2,2] 1 2 -1 0; i64[2,2] 1 3 1 0",
    "TopK 28; largest=0; f32[2,4] 3 1 3 2 0 -1 5 5; i64[1] 2 -> f32[2,2] 1 2 -1 0; i64[2,2] 1 3 1 0",
    "TopK 11; axis=0; i64[2,4] 3 1 3 2 0 -1 5 5; i64[1] 1 -> i64[1,4] 3 1 5 5; i64[1,4] 0 0 1 1",
    NULL,
};

const char *const tort_refusals_topk[] = {
    "TopK 10; ; f32[2] 1 2; i64[2] 1 1 -> error MODEL K has 2 elements",
    NULL,
};

const char *const tort_lines_topk[] = {
    "TopK 11; ; T[a,B+5] i64[1]=5; 2",
    "TopK 11; axis=1 largest=0; T[a,b+5,c] i64[1]=4; 2",
    "TopK 11; axis=0; i64[b+9]~-3,3 i64[1]=9; 2",
    "TopK 11; largest=0; i32[a,b+3]~-3,3 i64[1]=3; 2",
    "TopK 11; ; T[2,6]=nan,1,-0,0,inf,nan,-inf,nan,3,3,3,-1 i64[1]=6; 2",
    "TopK 11; largest=0; T[2,6]=nan,1,-0,0,inf,nan,-inf,nan,3,3,3,-1 i64[1]=6; 2",
    "TopK 9; k=3 axis=-1; T[a,b+3]; 2",
    "TopK 24; axis=1; N[a,40] i64[1]=3; 2",
    "TopK 24; axis=0 largest=0; R[40,b] i64[1]=3; 2",
    "TopK 11; axis=0; f64[5]=1,nan,inf,-inf,0 i64[1]=5; 2",
    "TopK 11; axis=0 largest=0; f64[5]=1,nan,inf,-inf,0 i64[1]=5; 2",
    "TopK 11; axis=0; u64[4]=1,-1,0,5 i64[1]=4; 2",
    NULL,
};

/* Elements are few different numbers, so that many are equal. */
static void make_topk(random_node *n, random_source *r) {
    const int64_t dims[3] = {draw(r, 0, 3), chance(r, 30) ? 300 : draw(r, 1, 90), draw(r, 1, 3)}, one = 1;
    add_tensor(n, r, 3, dims);
    for (int32_t i = 0; i < 4; i++) spoil_input(n, r, 0);
    const int32_t axis = (int32_t)draw(r, 1, 2);
    const tort_tensor *k = add_buffer(n, TORT_INT64, 1, &one);
    ((int64_t *)k->data)[0] =
        chance(r, 20) ? dims[axis] : draw(r, 0, chance(r, 50) ? (dims[axis] + 4) / 5 : dims[axis]);
    n->constant[1] = true;
    add_int(n, "axis", axis);
    add_int(n, "largest", draw(r, 0, 1));
    n->second_output = true;
    n->opset = 11;
}

const kernel_case tort_rows_topk[] = {
    {"", "TopK", "topk_lanes", make_topk, NULL},
    {.op = NULL},
};
