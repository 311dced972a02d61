# What users of other processors will see. A build that sees less of its processor (SEEN=v2, v3, v4: Makefile) runs the tests of
# values as such a processor would; under qemu a reduced set of them runs where the instructions themselves are missing.
ifeq ($(MACHINE),x86_64)
THOROUGH_TESTS += test-isa
endif

ISA_BUILD := $(BUILD)/isa
ISA_SETS := $(filter v%,$(SIMD_SETS))
ISA_TESTS := test-unit test-node test-golden test-random-ops test-fast-rows

# Criterion's tests execute their own file, which only a processor can: tests/targets has a runner for emulators.
ISA_EMULATED := $(ISA_BUILD)/emulated
ISA_PROCESSORS := Nehalem=x86-64-v2 Haswell=x86-64-v3

.PHONY: test-isa
## Run unit, node, golden, random and row tests at each x86-64 level of this machine, and some of them under qemu as Nehalem and Haswell.
test-isa: $(TINYORT) $(BUILD)/harness $(BUILD)/tests/rows
	@.ci/setup.sh qemu
	@$(MAKE) --no-print-directory BUILD=$(ISA_EMULATED) CUDA=0 EMULATED=1 CPPFLAGS='$(CPPFLAGS) -Itests/targets' $(ISA_EMULATED)/tests/unit
	@status=0; \
	for set in $(ISA_SETS); do \
	    if $(TINYORT) providers --ep cpu:isa=$$set --require cpu > /dev/null 2>&1; then \
	        echo "==== $$set"; \
	        $(MAKE) --no-print-directory BUILD=$(ISA_BUILD)/$$set SEEN=$$set CUDA=0 RUNNERS='$(ISA_TESTS)' run-tests || status=1; \
	    else echo "skipped: $$set, which this processor does not have"; echo "isa-$$set: 0 passed, 0 failed, 1 skipped"; fi; \
	done; \
	for processor in $(ISA_PROCESSORS); do \
	    sh tests/isa/emulated.sh $(BUILD) $(ISA_EMULATED)/tests/unit $$processor $(VENV)/bin/python || status=1; \
	done; \
	exit $$status
