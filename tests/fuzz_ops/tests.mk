# Random models of one operator, held against onnxruntime, onnx.reference and onnx.shape_inference. `make test` runs some of them; `make fuzz-ops` as many
# as one likes, with the library built again under $(BUILD)/fuzz-ops with the sanitizers.
#
# SEED= and CASES= choose the cases; what fails lies in the folder findings, and is run alone by `make fuzz-ops REPLAY=FILE`.
# ONLY=Conv,com.microsoft.Gelu takes these operators alone. ALONE=1 spoils every case and asks no oracle, which is ten times as fast: does
# tinyort survive? ROWS=1 asks tinyort's plain loops alone: are its fast kernels right?
TESTS += test-random-ops

FUZZ_OPS := $(BUILD)/fuzz-ops
SEED ?= 1
CASES ?= 100000
RANDOM_CASES := 4000
FUZZ_OPS_OBJECTS := $(addprefix $(FUZZ_OPS)/obj/tests/,counting_env.o fuzz_ops/harness.o)
FUZZ_OPS_RUN = $(VENV)/bin/python tests/fuzz_ops/run.py

.PHONY: fuzz-ops test-random-ops
## Hold CASES (100000) random single operators against onnxruntime and onnx.reference, by SEED, with the sanitizers.
fuzz-ops:
	@.ci/setup.sh build regex pictures test
	@.ci/setup.sh venv=$(VENV)
	@$(MAKE) --no-print-directory BUILD=$(FUZZ_OPS) CUDA=0 SANITIZE=address,undefined OPT='-O1 -g' \
	    $(FUZZ_OPS)/harness $(FUZZ_OPS)/tinyort
	@$(FUZZ_OPS_RUN) --harness $(FUZZ_OPS)/harness --tinyort $(FUZZ_OPS)/tinyort \
	    --folder $(FUZZ_OPS) --seed $(SEED) --cases $(CASES) $(if $(ONLY),--only $(ONLY)) $(if $(ALONE),--alone) $(if $(ROWS),--rows) $(if $(REPLAY),--replay $(REPLAY))

## Hold a few random nodes of each operator against onnxruntime and onnx.reference.
test-random-ops: $(BUILD)/harness $(TINYORT)
	@$(FUZZ_OPS_RUN) --harness $(BUILD)/harness --tinyort $(TINYORT) --folder $(BUILD)/random-ops --cases $(RANDOM_CASES) --short random-ops

$(BUILD)/harness: $(OBJ)/tests/fuzz_ops/harness.o $(OBJ)/tests/counting_env.o $(EXTRA_LIBRARY) $(LIBRARY)
	@echo "  LINK  $@"
	$(Q)$(LINK) -o $@ $^ $(EXTRA_LIBS) $(LIBRARY_LIBS)
