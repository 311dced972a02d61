# Other machines and C libraries (the table of targets in the Makefile): cross-compiled, and run natively or by qemu's user mode. `make test`
# builds and tries one of them, with plain loops; all of them need packages of other architectures and half an hour.
TESTS += test-target-plain

.PHONY: test-targets test-target-plain
## Build for every target and test what it makes: plans, models, ONNX's backend cases, saved plans, numbers, an empty root.
test-targets: $(TINYORT) $(NODE_CASES)/cases.json
	@status=0; \
	for target in $(sort $(TARGETS)); do \
	    $(MAKE) --no-print-directory TARGET=$$target BUILD=build/$$target setup && \
	    $(MAKE) --no-print-directory TARGET=$$target BUILD=build/$$target NATIVE=$(TINYORT) NODE_CASES=$(NODE_CASES) test-target || status=1; \
	done; \
	exit $$status

## Cross-compile the plain loops for 32-bit Arm, quickly (-O0), and try them under qemu-arm.
test-target-plain: $(TINYORT)
	@$(MAKE) --no-print-directory TARGET=arm-linux-gnueabihf setup > /dev/null
	@$(MAKE) --no-print-directory TARGET=arm-linux-gnueabihf CPU=plain OPT=-O0 BUILD=$(BUILD)/tests/target SANITIZE= NATIVE=$(TINYORT) try-target

ifneq ($(TARGET),)
.PHONY: test-target try-target test-units
## With TARGET=NAME NATIVE=PROGRAM: test the build for a target; the program of this machine has the numbers to compare with.
test-target: try-target $(NODE_CASES)/cases.json
	@$(VENV)/bin/python tests/node/run.py $(RUN_TINYORT) $(NODE_CASES) tests/node/expected.txt --and tests/targets/left_out.txt \
	    $(if $(EMULATOR),--kinds node$(comma)older$(comma)simple$(comma)pytorch-operator$(comma)pytorch-converted)
try-target: $(RUN_TINYORT)
	@$(VENV)/bin/python tests/targets/run.py $(TARGET) $(RUN_TINYORT) $(NATIVE)

# A static program, whose functions lie where nm says.
$(BUILD)/tests/count: $(OBJ)/tests/targets/count.o $(LIBRARY)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) -static -no-pie -o $@ $^ $(LIBRARY_LIBS)

## With TARGET=NAME: run the unit tests there; ONLY=SUITE/TEST runs those whose names begin so.
test-units:
	@$(MAKE) --no-print-directory CPPFLAGS='$(CPPFLAGS) -Itests/targets' EMULATED=1 $(BUILD)/tests/unit
	$(EMULATOR) $(BUILD)/tests/unit $(ONLY)
endif

# Criterion's tests execute their own file, which only a processor can: runner.c stands in for it.
ifneq ($(EMULATED),)
CRITERION :=
$(BUILD)/tests/unit: $(OBJ)/tests/targets/runner.o $(OBJ)/tests/targets/check.o
endif

# ---- aarch64 with CUDA ------------------------------------------------------------------------------------------------

AARCH64 := build/aarch64-linux-gnu
AARCH64_MAKE = $(MAKE) --no-print-directory TARGET=aarch64-linux-gnu BUILD=$(AARCH64)
AARCH64_CUDA := CUDA=1

.PHONY: check-sass-aarch64
## Hold the machine code for sm_87 and sm_90, as the aarch64 package of CUDA 12 has it, to kernels/cuda/sass_budgets.txt.
check-sass-aarch64:
	@$(AARCH64_MAKE) setup
	@.ci/setup.sh cuda_aarch64
	@$(AARCH64_MAKE) $(AARCH64_CUDA) BUILD=$(AARCH64)/cuda12 CUDA_MAJOR=12 check-sass
