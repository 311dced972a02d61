# Real networks, exported by PyTorch with seeded random weights and compared with onnxruntime: not part of `make test`, because
# it installs PyTorch (several GB) into a Python environment of its own and takes the better part of an hour on two cores.

MODELS_VENV ?= build/venv-models

.PHONY: test-models test-models-cudasim
## Compare real networks exported by torchvision and transformers with onnxruntime (long; installs PyTorch). ONLY=NAME,...
test-models: all $(MODELS_VENV)/ready
	$(MODELS_VENV)/bin/python tests/models/run.py --tinyort $(TINYORT) --folder $(BUILD)/models $(if $(ONLY),--only $(ONLY))

## The same networks and more at small widths on the simulated CUDA device: every node must be there. ONLY=NAME,...
test-models-cudasim: all $(CUDASIM_LIBRARY) $(MODELS_VENV)/ready
	$(MODELS_VENV)/bin/python tests/models/run.py --tinyort $(TINYORT) --folder $(BUILD)/models-narrow --narrow --ep cudasim,cpu \
	    $(if $(ONLY),--only $(ONLY))

$(MODELS_VENV)/ready:
	python3 -m venv $(MODELS_VENV)
	$(MODELS_VENV)/bin/pip install --quiet torch torchvision transformers onnx==1.23.2 onnxscript onnxruntime numpy
	@touch $@
