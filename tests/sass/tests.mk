# What reads the machine code of kernels (.ci/sass.py) and holds it to budgets (.ci/check_sass.py), on a small recorded piece.
TESTS += test-sass

.PHONY: test-sass
## Test what reads the machine code of CUDA kernels: loops, counts and budgets of a recorded piece; needs no compiler of NVIDIA's.
test-sass:
	@$(VENV)/bin/python tests/sass/machine_code.py
