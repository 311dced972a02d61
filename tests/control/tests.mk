# Control flow from end to end: models written as text, against what numpy computes.
TESTS += test-control

CONTROL_CHAIN := --chain cudasim,cpu

.PHONY: test-control
## Run models with loops, scans and conditions, on cpu and on the simulated device, against numpy.
test-control: $(TINYORT) $(if $(CUDASIM_CXX),$(CUDASIM_LIBRARY))
	@$(VENV)/bin/python tests/control/run.py $(TINYORT) $(if $(CUDASIM_CXX),$(CONTROL_CHAIN))
