# A model as an application of Ray Serve, and a data set of Ray Data; in an environment of its own, as Ray is large.
THOROUGH_TESTS += test-python-serve

SERVE_VENV := $(BUILD)/serve/venv
SERVE_ENVIRONMENT = PYTHONPATH=$(abspath $(BUILD)/python) RAY_USAGE_STATS_ENABLED=0

.PHONY: test-python-serve
## Test tinyort.serve by Ray: answers, batches, limits, the shared plan, metrics, readiness, a replica killed under load; Ray Data.
test-python-serve: python
	@.ci/setup.sh serve=$(SERVE_VENV)
	@$(SERVE_ENVIRONMENT) $(SERVE_VENV)/bin/python -m pytest -q -W ignore -p no:cacheprovider -p tests.python.sum \
	    tests/python_serve

.PHONY: bench-python-serve
## Measure requests a second of two replicas under 32 clients, beside the same deployment of onnxruntime.
bench-python-serve: python
	@.ci/setup.sh serve=$(SERVE_VENV)
	@$(SERVE_ENVIRONMENT) $(SERVE_VENV)/bin/python tests/python_serve/bench.py
