# Every row of a fusion against the nodes that it joins, what must not be joined, and fusions within bodies.
TESTS += test-fusions

.PHONY: test-fusions
## Run models that each fusion joins, with it and without, on cpu and on the simulated device; every row has a case.
test-fusions: $(TINYORT) $(CUDASIM_LIBRARY)
	@status=0; \
	$(VENV)/bin/python tests/fusions/run.py $(TINYORT) || status=1; \
	$(VENV)/bin/python tests/fusions/bodies.py $(TINYORT) || status=1; \
	exit $$status
