# tinyort inside an unchanged onnxruntime, of the environment that all tests in Python have.
TESTS += test-plugin

.PHONY: test-plugin
## Test the provider for ONNX Runtime in an unchanged onnxruntime: ONNX's backend cases.
test-plugin: $(PLUGIN) python $(NODE_CASES)/cases.json
	@PYTHONPATH=$(abspath $(BUILD)/python) $(VENV)/bin/python tests/plugin/run.py $(PLUGIN) $(BUILD)/node-cases

.PHONY: test-plugin-asan
# onnxruntime throws: the sanitizer needs the library of C++ before it.
## The same under the address and undefined-behaviour sanitizers, in build/asan; leaks are those of Python and not looked for.
test-plugin-asan: python $(NODE_CASES)/cases.json
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/asan SANITIZE=address,undefined OPT='-O1 -g' plugin
	@LD_PRELOAD="$$($(CC) -print-file-name=libasan.so) $$($(CC) -print-file-name=libstdc++.so)" ASAN_OPTIONS=detect_leaks=0 \
	    PYTHONPATH=$(abspath $(BUILD)/python) $(VENV)/bin/python tests/plugin/run.py $(BUILD)/asan/libtinyort_onnxruntime.so $(BUILD)/node-cases
