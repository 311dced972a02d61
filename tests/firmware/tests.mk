# Models as C for firmware: compiled here, and held to the bits of the provider firmware.
TESTS += test-firmware
MODELS_VENV ?= build/venv-models

.PHONY: test-firmware
## Test `tinyort compile`: strict compilers, bits of --ep firmware, whole numbers against double, bands of rows, models of scikit-learn, symbols, refusals.
test-firmware: $(TINYORT)
	@$(VENV)/bin/python tests/firmware/run.py $(TINYORT)
	@$(VENV)/bin/python tests/firmware/belonging.py $(TINYORT)
	@$(VENV)/bin/python tests/firmware/bytes.py $(TINYORT)
	@$(VENV)/bin/python tests/firmware/bands.py $(TINYORT)
	@$(VENV)/bin/python tests/firmware/integers.py $(TINYORT)
	@$(VENV)/bin/python tests/firmware/trees.py $(TINYORT)
	@$(VENV)/bin/python tests/firmware/rows.py $(TINYORT)

.PHONY: test-compile
## Tell how many models compile into firmware and run right: those of build/models and of the onnx package. MODELS="FILE|FOLDER ...", ONLY=WORD
test-compile: $(TINYORT)
	@$(VENV)/bin/python tests/firmware/coverage.py $(TINYORT) $(if $(ONLY),--only $(ONLY)) \
	    $(or $(MODELS),$(wildcard $(BUILD)/models) $(wildcard $(VENV)/lib/python3*/site-packages/onnx/backend/test/data/pytorch-*) \
	    $(wildcard $(VENV)/lib/python3*/site-packages/onnx/backend/test/data/light))

.PHONY: test-firmware-networks
## Hold networks that PyTorch exports and onnxruntime quantizes, compiled, to double and to onnxruntime (installs PyTorch). ONLY=NAME,...
test-firmware-networks: $(TINYORT) $(MODELS_VENV)/ready
	@$(MODELS_VENV)/bin/python tests/firmware/networks.py $(TINYORT) $(if $(ONLY),--only $(ONLY))
