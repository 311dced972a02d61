/* case_table_operators.c - more cases of kernels.c: of operators around networks, as the selection of boxes. Read
 * first: case_table.c. */
#include <stddef.h>

extern const char *const operator_kernel_cases[];

const char *const operator_kernel_cases[] = {
    /* ---- NonMaxSuppression: ties, tiles and chunks of sorted keys, limits of all kinds ---- */
    "NonMaxSuppression 11; ; f32[2,A,4]~0,9 f32[2,3,A] i64[1]=40 f32[1]=0.3 f32[1]=0.5",
    "NonMaxSuppression 11; center_point_box=1; f32[1,A,4]~1,3 f32[1,2,A] i64[1]=9999999999 f32[1]=0.8",
    "NonMaxSuppression 10; ; f32[a,b,4] f32[a,c,b] i64[]=7 f32[]=0.4 f32[]=-1",
    "NonMaxSuppression 11; center_point_box=1; f32[1,b,4] f32[1,c,b] i64[1]=20",
    "NonMaxSuppression 11; ; f32[1,2500,4]~0,99 f32[1,1,2500] i64[1]=600 f32[1]=0.9",
    "NonMaxSuppression 11; ; f32[1,5000,4]~0,1 f32[1,1,5000]~0,9 i64[1]=5000 f32[1]=0.45 f32[1]=1",
    "NonMaxSuppression 11; ; f32[1,300,4]~0,9 f32[1,1,300]=1,0,-0,1,nan,2,-inf: i64[1]=150 f32[1]=0.5",
    "NonMaxSuppression 11; ; f32[1,3,4]=0,0,1,1,0,0,1,1,nan,0,1,1 f32[1,1,3]=inf,inf,1 i64[1]=3 f32[1]=0.5 "
    "f32[1]=-inf",
    "NonMaxSuppression 11; ; f32[1,b,4] f32[1,c,b] i64[1]=-1",
    "NonMaxSuppression 11; ; f32[2,b,4] f32[2,c,b] i64[1]=5 f32[0] f32[1]=100",
    "NonMaxSuppression 11; ; f32[1,b,4] f32[1,c,b]",
    NULL,
};
