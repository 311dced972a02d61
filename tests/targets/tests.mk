# Other machines and C libraries (the table of targets in the Makefile): cross-compiled, and run natively or by qemu's user mode. Not part
# of `make test`, which builds and tries one of them: it needs packages of other architectures and an hour.
#
# ONLY=SUITE/TEST runs the unit tests whose names begin so.

# Programs that run others take this for the program itself.
EMULATED_TINYORT := $(BUILD)/emulated/tinyort
$(EMULATED_TINYORT): $(TINYORT)
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec %s "%s" "$$@"\n' '$(EMULATOR)' '$(abspath $(TINYORT))' > $@
	@chmod +x $@

# Criterion's tests execute their own file, which only a processor can: runner.c stands in for it.
TARGET_MAKE = $(MAKE) --no-print-directory CPPFLAGS='$(CPPFLAGS) -Itests/targets' EMULATED=1
ifneq ($(EMULATED),)
CRITERION :=
$(BUILD)/tests/unit: $(OBJ)/tests/targets/runner.o $(OBJ)/tests/targets/check.o
endif

.PHONY: test-targets $(TARGETS:%=test-target-%)
## Build for every target and test what it makes: plans, models, ONNX's backend cases, saved plans, numbers, an empty root.
test-targets: $(TARGETS:%=test-target-%)

# Set up and built here, in a make of its own, because the compiler may have been installed just now.
$(TARGETS:%=test-target-%): test-target-%: $(TINYORT) $(NODE_CASES)/cases.json
	@$(MAKE) --no-print-directory TARGET=$* VENV=$(VENV) BUILD=build/$* setup
	@$(MAKE) --no-print-directory TARGET=$* BUILD=build/$* build/$*/emulated/tinyort
	@$(VENV)/bin/python tests/targets/run.py $* build/$*/emulated/tinyort $(TINYORT)
	@$(VENV)/bin/python tests/node/run.py build/$*/emulated/tinyort $(NODE_CASES) tests/node/expected.txt

.PHONY: test-units
## With TARGET: run the unit tests there; ONLY=SUITE/TEST for some.
test-units:
	@$(TARGET_MAKE) $(BUILD)/tests/unit
	$(EMULATOR) $(BUILD)/tests/unit $(ONLY)

# ---- aarch64 with CUDA ------------------------------------------------------------------------------------------------

AARCH64 := build/aarch64-linux-gnu
AARCH64_MAKE = $(MAKE) --no-print-directory TARGET=aarch64-linux-gnu BUILD=$(AARCH64)
AARCH64_CUDA := CUDA=1 LD=aarch64-linux-gnu-ld OBJCOPY=aarch64-linux-gnu-objcopy

.PHONY: check-sass-aarch64
## Hold the machine code for sm_87 and sm_90, as the aarch64 package of CUDA 12 has it, to kernels/cuda/sass_budgets.txt.
check-sass-aarch64:
	@$(AARCH64_MAKE) setup
	@.ci/setup.sh cuda_aarch64
	@$(AARCH64_MAKE) $(AARCH64_CUDA) BUILD=$(AARCH64)/cuda12 CUDA_MAJOR=12 check-sass
