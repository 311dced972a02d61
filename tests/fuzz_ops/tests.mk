# Random models of one operator, held against onnxruntime and onnx.reference; not part of `make test`, because it installs
# onnxruntime into a Python environment of its own.
#
# The library is built again under $(BUILD)/fuzz-ops with the sanitizers. SEED= and CASES= choose the cases; what fails lies in
# $(BUILD)/fuzz-ops/findings, and is run alone by `make fuzz-ops REPLAY=FILE`. ONLY=Conv,Pad takes these operators alone.

FUZZ_OPS := $(BUILD)/fuzz-ops
FUZZ_OPS_VENV ?= build/venv-fuzz
SEED ?= 1
CASES ?= 100000
FUZZ_OPS_OBJECTS := $(addprefix $(FUZZ_OPS)/obj/tests/,counting_env.o fuzz_ops/harness.o)

.PHONY: fuzz-ops
## Hold CASES (100000) random single operators against onnxruntime and onnx.reference, by SEED; installs onnxruntime.
fuzz-ops:
	@.ci/setup.sh build test
	@.ci/setup.sh venv-fuzz=$(FUZZ_OPS_VENV)
	@$(MAKE) --no-print-directory BUILD=$(FUZZ_OPS) CUDA=0 SANITIZE=address,undefined OPT='-O1 -g' \
	    $(FUZZ_OPS)/harness $(FUZZ_OPS)/tinyort
	@$(FUZZ_OPS_VENV)/bin/python tests/fuzz_ops/run.py --harness $(FUZZ_OPS)/harness --tinyort $(FUZZ_OPS)/tinyort \
	    --folder $(FUZZ_OPS) --seed $(SEED) --cases $(CASES) $(if $(ONLY),--only $(ONLY)) $(if $(REPLAY),--replay $(REPLAY))

$(BUILD)/harness: $(OBJ)/tests/fuzz_ops/harness.o $(OBJ)/tests/counting_env.o $(LIBRARY)
	@echo "  LINK  $@"
	$(Q)$(LINK) -o $@ $^ $(LIBRARY_LIBS)
