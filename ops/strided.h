/* strided.h - copying a box of elements between two strided layouts, for Slice, Transpose, Expand, Tile, Concat, Split,
 * DepthToSpace and others.
 *
 * Works for every element type; strides may be zero (repeat) or negative (reverse). Dimensions that are contiguous in
 * both layouts are merged, and a transposition goes by square blocks. */
#ifndef TORT_OPS_STRIDED_H
#define TORT_OPS_STRIDED_H

#include "runtime/include/op.h"

#define TORT_BOX_RANK (2 * TORT_MAX_RANK)

/* Strides and offsets are in elements. dst and src point to element 0 of a tensor; the box starts at elements dst_first
 * and src_first. No two elements of the box have the same position in dst. */
typedef struct tort_box {
    int32_t rank;
    int64_t dims[TORT_BOX_RANK];
    int64_t dst_strides[TORT_BOX_RANK], src_strides[TORT_BOX_RANK];
    int64_t dst_first, src_first;
} tort_box;

/* Appends an innermost dimension. */
void tort_box_add(tort_box *box, int64_t dim, int64_t dst_stride, int64_t src_stride);
/* The same box without dims of 1, and with dims merged that are contiguous in both layouts; rank 1 at least. False: the
 * box is empty. */
bool tort_box_simplify(const tort_box *box, tort_box *simple);
/* Function that copies a box, in host memory or on a device. */
typedef tort_status (*tort_box_mover)(const tort_call *call, tort_type type, void *dst, const void *src,
                                      const tort_box *box);
/* Mover for host memory, on several threads where that pays. Always TORT_OK. */
tort_status tort_copy_box(const tort_call *call, tort_type type, void *dst, const void *src, const tort_box *box);

/* Operators made of box copies, for any mover: each decodes params and shapes and moves box by box. */
tort_status tort_move_transpose(const tort_call *call, tort_box_mover move);
tort_status tort_move_depth_to_space(const tort_call *call, tort_box_mover move);
tort_status tort_move_space_to_depth(const tort_call *call, tort_box_mover move);
tort_status tort_move_slice(const tort_call *call, tort_box_mover move);
tort_status tort_move_concat(const tort_call *call, tort_box_mover move);
tort_status tort_move_split(const tort_call *call, tort_box_mover move);
tort_status tort_move_expand(const tort_call *call, tort_box_mover move);
tort_status tort_move_tile(const tort_call *call, tort_box_mover move);
/* Fills all of `to` from `from`: with its elements in their order (stride 1), or with its first element (stride 0). */
void tort_fill_tensor(const tort_call *call, const tort_tensor *to, const void *from, int64_t stride);
/* tort_copy_elements in parts, between which a run may end. *done and the result: see tort_work_goes_on. */
bool tort_copy_run(struct tort_watch *watch, int64_t *done, tort_type type, void *dst, int64_t dst_first,
                   const void *src, int64_t src_first, int64_t count);
/* dst[first .. first+count) = element `index` of src; dst and src are different tensors. */
void tort_fill_elements(tort_type type, void *dst, int64_t first, int64_t count, const void *src, int64_t index);

#endif
