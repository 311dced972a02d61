# The host of plugins of ONNX Runtime, with a plugin that misbehaves.
TESTS += test-plugin-host

HOSTILE := $(BUILD)/tests/libhostile.so

.PHONY: test-plugin-host
## What a user sees of plugins that fail, lie, or are not found.
test-plugin-host: $(TINYORT) $(HOSTILE)
	@$(VENV)/bin/python tests/plugin_host/run.py $(TINYORT) $(HOSTILE)

$(HOSTILE): $(OBJ)/tests/plugin_host/hostile.o
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK_SHARED) -o $@ $<

# Real plugins, from PyPI (1 GB): OpenVINO's runs here, the others say why they do not.
THOROUGH_TESTS += test-openvino
PLUGINS_VENV := $(BUILD)/venv-plugins
OPENVINO_CONFIG := $(BUILD)/tests/openvino.json

$(PLUGINS_VENV)/.made: .ci/requirements/plugins.txt
	@.ci/setup.sh plugins=$(PLUGINS_VENV)
	@touch $@

$(OPENVINO_CONFIG):
	@mkdir -p $(@D)
	@echo '{"CPU": {"INFERENCE_PRECISION_HINT": "f32"}}' > $@

.PHONY: test-openvino bench-openvino
## Test OpenVINO's plugin in tinyort: each way to fail, a decoder, ONNX's backend cases; and how other plugins of PyPI are refused.
test-openvino: $(TINYORT) python $(PLUGINS_VENV)/.made $(NODE_CASES)/cases.json $(OPENVINO_CONFIG)
	@PYTHONPATH=$(abspath $(BUILD)/python) $(PLUGINS_VENV)/bin/python tests/plugin_host/openvino.py $(TINYORT) models/digits.onnx
	@VIRTUAL_ENV=$(abspath $(PLUGINS_VENV)) $(VENV)/bin/python tests/node/run.py $(TINYORT) $(NODE_CASES) tests/node/expected.txt \
	    --and tests/plugin_host/openvino.txt --ep openvino:load_config=$(OPENVINO_CONFIG),cpu

## Time NETWORKS="a.onnx b.onnx" on OpenVINO's plugin in tinyort and in onnxruntime, in turns (OPTIONS="--rounds 40 --size batch=8").
bench-openvino: python $(PLUGINS_VENV)/.made $(OPENVINO_CONFIG)
	@PYTHONPATH=$(abspath $(BUILD)/python) $(PLUGINS_VENV)/bin/python tests/plugin_host/bench.py --config $(OPENVINO_CONFIG) $(OPTIONS) $(or $(NETWORKS),models/digits.onnx)
