# tinyort inside an unchanged onnxruntime, of the environment that all tests in Python have.
TESTS += test-plugin

.PHONY: test-plugin
## Test the provider for ONNX Runtime in an unchanged onnxruntime: ONNX's backend cases.
test-plugin: $(PLUGIN) python $(NODE_CASES)/cases.json
	@PYTHONPATH=$(abspath $(BUILD)/python) $(VENV)/bin/python tests/plugin/run.py $(PLUGIN) $(BUILD)/node-cases
