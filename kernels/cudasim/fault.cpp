/* fault.cpp - processor traps in a kernel: wild addresses, misaligned vectors, stack overflow, division by zero.
 *
 * The kernel is abandoned with the error that a GPU would report, and the program continues. A fault outside kernels
 * goes to the previous handler; if host code dereferenced a device pointer, stderr is told first, because the
 * program is about to die and nothing else could explain it. Read next: shared.cpp. */
#include "kernels/cudasim/sim.h"

#include <stdio.h>

namespace cudasim {

namespace {

struct sigaction previous_segv, previous_fpe;

void pass_on(int signal_number, siginfo_t *info, void *context) {
    const struct sigaction *previous = signal_number == SIGSEGV ? &previous_segv : &previous_fpe;
    if (previous->sa_flags & SA_SIGINFO && previous->sa_sigaction)
        previous->sa_sigaction(signal_number, info, context);
    else
        sigaction(signal_number, previous, nullptr); /* on return, the instruction faults again, into the old handler */
}

/* Never returns to the faulting instruction: stop_kernel switches to the launcher's stack. */
[[noreturn]] void stop_for_fault(int signal_number, const siginfo_t *info) {
    if (signal_number == SIGFPE) stop_kernel(cudaErrorLaunchFailure, "integer division by zero");
    if (info->si_code == SI_KERNEL) /* a general protection fault, which reports no address */
        stop_kernel(cudaErrorMisalignedAddress, "a vector load or store at a misaligned address");
    const int device = heap_device(info->si_addr);
    if (device >= 0 && device != running_device())
        stop_kernel(cudaErrorIllegalAddress, "address %p belongs to device %d", info->si_addr, device);
    stop_kernel(cudaErrorIllegalAddress, "illegal address %p", info->si_addr);
}

void on_fault(int signal_number, siginfo_t *info, void *context) {
    if (in_kernel()) stop_for_fault(signal_number, info);
    if (signal_number == SIGSEGV && heap_device(info->si_addr) >= 0)
        fprintf(stderr, "simulated CUDA device: host code dereferences the device pointer %p\n", info->si_addr);
    pass_on(signal_number, info, context);
}

} // namespace

void install_fault_handlers() {
    static bool installed;
    if (installed) return;
    installed = true;
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigaction(SIGSEGV, &action, &previous_segv);
    sigaction(SIGFPE, &action, &previous_fpe);
}

FaultStack::FaultStack() {
    static char memory[64 << 10];
    stack_t ours = {};
    ours.ss_sp = memory;
    ours.ss_size = sizeof memory;
    installed = !sigaltstack(nullptr, &previous) && previous.ss_flags & SS_DISABLE && !sigaltstack(&ours, nullptr);
}

FaultStack::~FaultStack() {
    if (installed) sigaltstack(&previous, nullptr);
}

} // namespace cudasim
