# Models that others export, compared with onnxruntime: not part of `make test`, because it installs PyTorch or TensorFlow (several
# GB) into Python environments of their own and takes the better part of an hour on two cores.

MODELS_VENV ?= build/venv-models
TENSORFLOW_VENV ?= build/venv-tensorflow
SKLEARN_VENV ?= build/venv-sklearn
MODELS_ONLY = $(if $(ONLY),--only $(ONLY))
MODELS_SETS := networks,detectors,programs

.PHONY: test-models test-models-fusions test-models-cudasim test-models-tensorflow test-models-sklearn test-models-voices
## Compare networks, detectors and programs with loops as PyTorch exports them with onnxruntime (long; installs PyTorch). ONLY=NAME,...
test-models: all $(MODELS_VENV)/ready
	$(MODELS_VENV)/bin/python tests/models/run.py --tinyort $(TINYORT) --folder $(BUILD)/models --sets $(MODELS_SETS) $(MODELS_ONLY)

## The same with all fusions, with none, and without each that joins nodes of a model (longer). ONLY=NAME,...
test-models-fusions: all $(MODELS_VENV)/ready
	$(MODELS_VENV)/bin/python tests/models/run.py --tinyort $(TINYORT) --folder $(BUILD)/models --sets $(MODELS_SETS) --fusions $(MODELS_ONLY)

## The same networks and more at small widths on the simulated CUDA device: every node must be there. ONLY=NAME,...
test-models-cudasim: all $(CUDASIM_LIBRARY) $(MODELS_VENV)/ready
	$(MODELS_VENV)/bin/python tests/models/run.py --tinyort $(TINYORT) --folder $(BUILD)/models-narrow --sets narrow,programs \
	    --ep cudasim,cpu $(MODELS_ONLY)

## Compare loops, conditions and recurrent layers as tf2onnx writes them with onnxruntime (installs TensorFlow). ONLY=NAME,...
test-models-tensorflow: all $(TENSORFLOW_VENV)/ready
	$(TENSORFLOW_VENV)/bin/python tests/models/tensorflow_programs.py --tinyort $(TINYORT) --folder $(BUILD)/models --fusions $(MODELS_ONLY)

## Compare models of scikit-learn as skl2onnx writes them with onnxruntime (installs scikit-learn). ONLY=NAME,...
test-models-sklearn: all $(SKLEARN_VENV)/ready
	$(SKLEARN_VENV)/bin/python tests/models/sklearn_models.py --tinyort $(TINYORT) --folder $(BUILD)/models $(MODELS_ONLY)

## Run the voice detectors of the package silero-vad by its own clients, with tinyort in the place of onnxruntime (installs PyTorch).
test-models-voices: all $(MODELS_VENV)/voices
	$(MODELS_VENV)/bin/python tests/models/voices.py --library $(SHARED)

$(MODELS_VENV)/ready:
	python3 -m venv $(MODELS_VENV)
	$(MODELS_VENV)/bin/pip install --quiet torch torchvision transformers onnx==1.23.2 onnxscript onnxruntime numpy
	@touch $@

# Without what it depends on: that is there, or is for reading audio files.
$(MODELS_VENV)/voices: $(MODELS_VENV)/ready
	$(MODELS_VENV)/bin/pip install --quiet --no-deps silero-vad==6.2.3 packaging
	@touch $@

$(SKLEARN_VENV)/ready:
	python3 -m venv $(SKLEARN_VENV)
	$(SKLEARN_VENV)/bin/pip install --quiet scikit-learn pandas skl2onnx onnx==1.23.2 onnxruntime
	@touch $@

$(TENSORFLOW_VENV)/ready:
	python3 -m venv $(TENSORFLOW_VENV)
	$(TENSORFLOW_VENV)/bin/pip install --quiet tensorflow-cpu tf2onnx==1.17.0 onnxruntime
	@touch $@
