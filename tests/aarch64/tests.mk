# The unit tests and the command line for aarch64, on any machine: compiled by Debian's cross compiler, run by qemu-aarch64. Not part of
# `make test`, because it needs packages of another architecture and some minutes.
#
# ONLY=SUITE/TEST runs the tests whose names begin so.

AARCH64 := $(BUILD)/aarch64
AARCH64_MAKE = $(MAKE) --no-print-directory BUILD=$(AARCH64) CC='$(CCACHE) aarch64-linux-gnu-gcc' AR=aarch64-linux-gnu-ar CUDA=0 \
    REGEX= PICTURES= CPPFLAGS='$(CPPFLAGS) -Itests/aarch64' EMULATED=1

AARCH64_CUDA := CUDA=1 LD=aarch64-linux-gnu-ld OBJCOPY=aarch64-linux-gnu-objcopy

.PHONY: check-sass-aarch64
## Hold the machine code for sm_87 and sm_90, as the aarch64 package of CUDA 12 has it, to kernels/cuda/sass_budgets.txt.
check-sass-aarch64:
	@.ci/setup.sh aarch64 cuda_aarch64
	@$(AARCH64_MAKE) $(AARCH64_CUDA) BUILD=$(AARCH64)/cuda12 CUDA_MAJOR=12 check-sass

.PHONY: test-aarch64
## Build for aarch64 with a cross compiler, and run the unit tests under qemu-aarch64; ONLY=SUITE/TEST for some.
test-aarch64:
	@.ci/setup.sh aarch64
	@$(AARCH64_MAKE) $(AARCH64)/tinyort $(AARCH64)/tests/unit
	qemu-aarch64 $(AARCH64)/tinyort providers
	for model in digits edges; do qemu-aarch64 $(AARCH64)/tinyort plan models/$$model.onnx --check models/$$model.lock || exit; done
	qemu-aarch64 $(AARCH64)/tests/unit $(ONLY)

# Criterion's tests execute their own file, which only a processor can.
ifneq ($(EMULATED),)
CRITERION :=
$(BUILD)/tests/unit: $(OBJ)/tests/aarch64/runner.o $(OBJ)/tests/aarch64/check.o
endif
