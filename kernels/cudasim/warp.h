/* warp.h - asynchronous copies of one thread, as block.cpp keeps them for each. What a collective computes needs no
 * declaration beyond device.h's. Defined in warp.cpp. */
#ifndef CUDASIM_WARP_H
#define CUDASIM_WARP_H

#include <vector>

#include "kernels/cudasim/sim.h"

namespace cudasim {

class AsyncCopies {
  public:
    void reset();
    void start(int thread, void *shared, const void *global, size_t size, size_t valid, Site site,
               const void *code); /* the instruction */
    void commit();
    void wait(int thread, int groups_left);
    bool pending() const;

  private:
    struct Copy {
        void *shared;
        const void *global;
        size_t size, valid;
        int group;
        const void *code;
    };
    std::vector<Copy> copies;
    int groups = 0;
};

} // namespace cudasim
#endif
