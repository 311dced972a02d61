"""The provider `cuda` of tinyort, which finds it here: nothing of this package is imported. NVIDIA's driver is all that it
needs; cuBLAS and cuDNN are taken from the packages nvidia-cublas and nvidia-cudnn-cu13, or from the system, if they are there."""
