# Models as C for firmware: compiled here, and held to the bits of the provider firmware.
TESTS += test-firmware test-firmware-projects test-firmware-misra
THOROUGH_TESTS += test-firmware-more
MODELS_VENV ?= build/venv-models

.PHONY: test-firmware
## Test `tinyort compile`: strict compilers, bits of --ep firmware, integers against double, steps, boards, trees, refusals.
test-firmware: $(TINYORT)
	@$(VENV)/bin/python tests/firmware/run.py $(TINYORT)
	@$(VENV)/bin/python tests/firmware/belonging.py $(TINYORT)
	@$(VENV)/bin/python tests/firmware/integers.py $(TINYORT)
	@$(VENV)/bin/python tests/firmware/products.py $(TINYORT)
	@$(VENV)/bin/python tests/firmware/validate.py $(TINYORT)
	@$(VENV)/bin/python tests/firmware/trees.py $(TINYORT)

.PHONY: test-firmware-more
## Test more of `tinyort compile`, for minutes: chains of 8-bit layers, bands of rows, scikit-learn's pipelines, keyword spotters, a page of boards.
test-firmware-more: $(TINYORT)
	@$(VENV)/bin/python tests/firmware/bytes.py $(TINYORT)
	@$(VENV)/bin/python tests/firmware/bands.py $(TINYORT)
	@$(VENV)/bin/python tests/firmware/rows.py $(TINYORT)
	@$(VENV)/bin/python tests/firmware/keywords.py $(TINYORT)
	@$(VENV)/bin/python tests/firmware/page.py $(TINYORT) quantized-cortex-m4

.PHONY: test-firmware-projects
## Build what `tinyort compile --project` writes by CMake, and hold the other kinds to what their build systems ask for.
test-firmware-projects: $(TINYORT)
	@.ci/setup.sh build cmake
	@$(VENV)/bin/python tests/firmware/projects.py $(TINYORT)

.PHONY: test-firmware-misra
## Hold printed C to the rules of MISRA C 2012 that cppcheck knows, but for kernels/firmware/MISRA.md, and its header to C and C++. ALL=1: over models of most kernels
test-firmware-misra: $(TINYORT)
	@.ci/setup.sh analyze
	@$(VENV)/bin/python tests/firmware/misra.py $(TINYORT) $(if $(ALL),--all)

.PHONY: test-compile
## Tell how many models compile into firmware and run right: those of build/models and of the onnx package. MODELS="FILE|FOLDER ...", ONLY=WORD
test-compile: $(TINYORT)
	@$(VENV)/bin/python tests/firmware/coverage.py $(TINYORT) $(if $(ONLY),--only $(ONLY)) \
	    $(or $(MODELS),$(wildcard $(BUILD)/models) $(wildcard $(VENV)/lib/python3*/site-packages/onnx/backend/test/data/pytorch-*) \
	    $(wildcard $(VENV)/lib/python3*/site-packages/onnx/backend/test/data/light))

.PHONY: test-firmware-networks
## Hold networks that PyTorch exports and onnxruntime quantizes, compiled, to double and to onnxruntime; run the page of a gesture (installs PyTorch). ONLY=NAME,...
test-firmware-networks: $(TINYORT) $(MODELS_VENV)/ready
	@$(MODELS_VENV)/bin/python tests/firmware/networks.py $(TINYORT) $(if $(ONLY),--only $(ONLY))
	@.ci/setup.sh embed
	@$(MODELS_VENV)/bin/python tests/firmware/page.py $(TINYORT) gesture-cortex-m4
