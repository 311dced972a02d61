"""The provider `cuda` of tinyort, which finds it here: nothing of this package is imported. NVIDIA's driver is all that it
needs; cuBLAS and cuDNN are taken from NVIDIA's packages of PyPI, or from the system, if they are there."""
