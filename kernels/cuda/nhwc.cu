/* nhwc.cu - conversion between NCHW and NHWC: a transposition of channels and pixels. Read first: nhwc.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/grid.h"
#include "kernels/cuda/nhwc.h"

/* ---- exchange of rows and columns: through shared memory, so that reads and writes are both of neighbours ---- */

enum { EXCHANGED = 32, EXCHANGE_ROWS = 8 /* rows of threads */ };

static __global__ void exchange(int64_t batch, int64_t rows, int64_t columns, const uint16_t *x, uint16_t *y) {
    __shared__ uint16_t tile[EXCHANGED][EXCHANGED + 2];
    const int64_t first_column = (int64_t)blockIdx.x * EXCHANGED;
    for (int64_t matrix = blockIdx.z; matrix < batch; matrix += gridDim.z) {
        const uint16_t *from = x + matrix * rows * columns;
        uint16_t *to = y + matrix * rows * columns;
        for (int64_t first_row = (int64_t)blockIdx.y * EXCHANGED; first_row < rows;
             first_row += (int64_t)gridDim.y * EXCHANGED) {
            const int64_t column = first_column + threadIdx.x, row = first_row + threadIdx.x;
            for (int i = (int)threadIdx.y; i < EXCHANGED; i += EXCHANGE_ROWS)
                if (column < columns && first_row + i < rows)
                    tile[i][threadIdx.x] = from[(first_row + i) * columns + column];
            __syncthreads();
            for (int i = (int)threadIdx.y; i < EXCHANGED; i += EXCHANGE_ROWS)
                if (row < rows && first_column + i < columns)
                    to[(first_column + i) * rows + row] = tile[threadIdx.x][i];
            __syncthreads();
        }
    }
}

cudaError_t gpu_run_exchange(gpu_stream stream, int64_t batch, int64_t rows, int64_t columns, const void *x, void *y) {
    const dim3 grid((unsigned)((columns + EXCHANGED - 1) / EXCHANGED),
                    grid_extent((size_t)((rows + EXCHANGED - 1) / EXCHANGED)), grid_extent((size_t)batch));
    return launch(exchange, grid, dim3(EXCHANGED, EXCHANGE_ROWS), 0, stream, batch, rows, columns, (const uint16_t *)x,
                  (uint16_t *)y);
}

cudaError_t gpu_load_exchange(void) {
    return load_kernel(exchange);
}
