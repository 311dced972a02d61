# ONNX's own backend cases, made by the onnx package, against the list of what must happen; and every operator row against
# ONNX's schemas.
TESTS += test-node test-node-firmware test-node-runner test-node-optimized test-schemas

NODE_CASES ?= $(BUILD)/node-cases

.PHONY: test-node
## Run ONNX's backend cases on the cpu provider, under older opsets too, against tests/node/expected.txt.
test-node: $(NODE_CASES)/cases.json $(TINYORT)
	@$(VENV)/bin/python tests/node/run.py $(TINYORT) $(NODE_CASES) tests/node/expected.txt

.PHONY: test-node-firmware
## Hold what firmware refuses of ONNX's node cases against tests/node/firmware.txt.
test-node-firmware: $(NODE_CASES)/cases.json $(TINYORT)
	@$(VENV)/bin/python tests/node/run.py $(TINYORT) $(NODE_CASES) tests/node/expected.txt --and tests/node/firmware.txt --ep firmware --kinds node

ifneq ($(CUDASIM_CXX),)
TESTS += test-node-cudasim

.PHONY: test-node-cudasim
## Run ONNX's own backend cases on the simulated CUDA device: outcomes as on cpu, placement as in tests/node/cudasim.txt.
test-node-cudasim: $(NODE_CASES)/cases.json $(TINYORT) $(CUDASIM_LIBRARY)
	@$(VENV)/bin/python tests/node/run.py $(TINYORT) $(NODE_CASES) tests/node/expected.txt --ep cudasim,cpu \
	    --placement tests/node/cudasim.txt --kinds node,simple,pytorch-operator,pytorch-converted
endif

.PHONY: test-node-optimized
## Optimize the models of the backend cases (plan --optimized): the new ones are valid, and do the same.
test-node-optimized: $(NODE_CASES)/cases.json $(TINYORT)
	@$(VENV)/bin/python tests/node/optimize_cases.py $(TINYORT) $(NODE_CASES) $(BUILD)/node-optimized
	@$(VENV)/bin/python tests/node/run.py $(TINYORT) $(BUILD)/node-optimized tests/node/expected.txt --without gradient_of_add

.PHONY: test-node-runner
## Test the runner of the backend cases itself.
test-node-runner:
	@$(VENV)/bin/python tests/node/run_test.py

.PHONY: test-schemas
## Hold every operator row against ONNX's schemas.
test-schemas: $(TINYORT)
	@$(VENV)/bin/python tests/node/schemas.py $(TINYORT)

$(NODE_CASES)/cases.json: tests/node/make_cases.py
	@$(VENV)/bin/python -W ignore tests/node/make_cases.py $(NODE_CASES)
