# Packages that run models by onnxruntime, unchanged, with tinyort in its place: not part of `make test`, because it installs them,
# and PyTorch, which some of them need (7 GB).
THOROUGH_TESTS += test-python-clients

CLIENTS_VENV ?= $(BUILD)/python_clients_venv
CLIENTS := PYTHONPATH=$(abspath $(BUILD)/python) $(CLIENTS_VENV)/bin/python tests/python_clients/run.py $(BUILD)/python_clients
CLIENTS_ONLY = $(if $(ONLY),--only $(ONLY))

.PHONY: test-python-clients bench-python-clients
## Run packages that use onnxruntime (OCR, speech, file types, embeddings ...) with it and with tinyort, and compare. ONLY=NAME,...
test-python-clients: python
	@.ci/setup.sh clients=$(CLIENTS_VENV)
	@$(CLIENTS) $(CLIENTS_ONLY)

## The time of the main call of each of those packages, in turns with onnxruntime, at one thread and two. BENCH=S, ONLY=NAME,...
bench-python-clients: python
	@.ci/setup.sh clients=$(CLIENTS_VENV)
	@$(CLIENTS) --bench $(or $(BENCH),1) $(CLIENTS_ONLY)
