# Every row of a fusion against the nodes that it joins, and what must not be joined.
TESTS += test-fusions

.PHONY: test-fusions
## Run models that each fusion joins, with it and without, on cpu and on the simulated device; every row has a case.
test-fusions: $(TINYORT) $(CUDASIM_LIBRARY)
	@$(VENV)/bin/python tests/fusions/run.py $(TINYORT)
