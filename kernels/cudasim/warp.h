/* warp.h - the asynchronous copies of one thread, which block.cpp keeps for each; defined in warp.cpp. The
 * collectives are declared in device.h. */
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
