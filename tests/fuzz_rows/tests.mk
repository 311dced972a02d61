# Random models through the fast rows of the provider `cpu`, held against the plain loops (cpu:isa=plain): with each instruction set of the
# machine, with one thread and with three, which must make the same bits. `make test` runs some; `make fuzz-rows` as many as one likes, with
# the library built again under $(BUILD)/fuzz-rows with the sanitizers.
#
# SEED= and CASES= choose the cases; CASE= runs one alone, as what fails says.
TESTS += test-fast-rows

FUZZ_ROWS := $(BUILD)/fuzz-rows
FAST_ROW_CASES := 500
FUZZ_ROWS_OBJECTS := $(patsubst %.c,$(OBJ)/%.o,$(wildcard tests/fuzz_rows/*.c tests/unit/cpu_*case*.c tests/cases/*.c) \
    tests/unit/cpu_kernel_models.c tests/counting_env.c tests/onnx_bytes.c tests/report_of.c)

.PHONY: fuzz-rows test-fast-rows
## Hold fast CPU kernels against the plain loops: CASES (100000) random models by SEED, with the sanitizers.
fuzz-rows:
	@.ci/setup.sh build test
	@$(MAKE) --no-print-directory BUILD=$(FUZZ_ROWS) CUDA=0 SANITIZE=address,undefined OPT='-O1 -g' $(FUZZ_ROWS)/tests/rows
	@$(FUZZ_ROWS)/tests/rows $(CASES) $(SEED) $(if $(CASE),$(CASE) $(FUZZ_ROWS)/case.onnx)

## Hold every fast CPU kernel against the plain loops, in some random models.
test-fast-rows: $(BUILD)/tests/rows
	@$(BUILD)/tests/rows $(FAST_ROW_CASES) 1

$(BUILD)/tests/rows: $(FUZZ_ROWS_OBJECTS) $(LIBRARY)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) -o $@ $^ $(CRITERION) $(LIBRARY_LIBS)
