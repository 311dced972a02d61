# The package for Python, held against onnxruntime itself in one process.
TESTS += test-python

PYTEST := LD_LIBRARY_PATH=$(abspath $(BUILD)) PYTHONPATH=$(abspath $(BUILD)/python) TINYORT=$(abspath $(TINYORT)) TINYORT_CUDASIM=$(abspath $(CUDASIM_LIBRARY)) \
    $(VENV)/bin/python -m pytest -q -p no:cacheprovider

.PHONY: test-python
## Test the package for Python: each member of onnxruntime's interface beside onnxruntime, placement, threads, memory.
test-python: python $(TINYORT) $(CUDASIM_LIBRARY)
	@$(PYTEST) -p tests.python.sum -p tinyort.pytest_plugin tests/python

THOROUGH_TESTS += test-python-asan

# Python itself is not compiled with the sanitizers, so they are loaded before it, and told nothing of what it never frees.
.PHONY: test-python-asan
## The tests of the package for Python under the address and undefined-behaviour sanitizers, but for those of growth.
test-python-asan: $(TINYORT)
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/asan CUDA=0 SANITIZE=address,undefined OPT='-O1 -g' python
	@LD_PRELOAD="$$($(CC) -print-file-name=libasan.so) $$($(CC) -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 \
	    PYTHONMALLOC=malloc PYTHONPATH=$(abspath $(BUILD)/asan/python) TINYORT=$(abspath $(TINYORT)) $(VENV)/bin/python -m pytest -q \
	    -p no:cacheprovider -p tests.python.sum -p tinyort.pytest_plugin -k 'not leak and not plugin' tests/python

.PHONY: bench-python
## Measure what Python adds to a run, beside onnxruntime.
bench-python: python $(TINYORT)
	@PYTHONPATH=$(abspath $(BUILD)/python) $(VENV)/bin/python tests/python/bench.py $(TINYORT)

TESTS += test-python-backend

.PHONY: test-python-backend
## Run ONNX's backend cases by onnx's own runner over tinyort.backend; they must end as on the command line.
test-python-backend: python
	@PYTHONPATH=$(abspath $(BUILD)/python) $(VENV)/bin/python tests/python/backend_cases.py tests/node/expected.txt
