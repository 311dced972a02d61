/* trial.h - runs a node on memory of its own while it is planned, and times what could serve it (option tune=on). For
 * host code of builds with CUDA. */
#ifndef TORT_KERNELS_CUDA_TRIAL_H
#define TORT_KERNELS_CUDA_TRIAL_H

#include "kernels/cuda/device.h"

enum { CUDA_TRIAL_INPUTS = 9, CUDA_TRIAL_OUTPUTS = 4 };
enum { CUDA_CHOSE_OWN = 1 }; /* tort_fit.choice: the own kernel in the place of a library; others are the row's */

typedef struct cuda_trial {
    tort_fit *fit;
    char *memory; /* of the operands and scratch, of undefined contents; NULL: nothing can be tried */
    size_t bytes;
    tort_tensor inputs[CUDA_TRIAL_INPUTS], outputs[CUDA_TRIAL_OUTPUTS];
    tort_call call; /* without a stream until something is timed */
    cudaEvent_t begin, end;
    tort_error error;   /* of the last candidate */
    uint32_t choice;    /* the library's fastest so far; 0: none */
    float library, own; /* their times in microseconds; 0: none */
} cuda_trial;

typedef tort_status cuda_run(const tort_call *call);

/* Makes the call on memory of the trial. Nothing is tried for a step that is fitted in each run, nor where there is no
 * memory; that is no error. Without tune=on fit->choice becomes 0. */
void cuda_trial_open(cuda_trial *t, tort_fit *fit);
void cuda_trial_close(cuda_trial *t);
/* True if candidates should be timed, as nothing was chosen before. */
bool cuda_trial_pays(const cuda_trial *t);
/* Times a candidate as runs will make it. One that fails is not chosen; only a lost device is an error. */
tort_status cuda_trial_time(cuda_trial *t, uint32_t choice, cuda_run *run, void *fitted);
/* Sets choice and words of fit to the fastest, if there is one; own: the row's name if it is the own kernel. */
void cuda_trial_choose(const cuda_trial *t, const char *own);

#endif
