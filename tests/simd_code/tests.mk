# What the compiler made of the loops of kernels/cpu/simd.
TESTS += test-simd-code

.PHONY: test-simd-code
## Read the machine code of kernels/cpu/simd: no vector is loaded that was stored in pieces.
test-simd-code: $(SIMD_OBJECTS)
ifeq ($(OPT)$(SANITIZE)$(MACHINE),-O3 -g1x86_64)
	@$(VENV)/bin/python tests/simd_code/check.py $(SIMD_OBJECTS)
else
	@echo "skipped: machine code of vector loops (OPT, SANITIZE or machine is another one)"; echo "simd-code: 0 passed, 0 failed, 1 skipped"
endif
