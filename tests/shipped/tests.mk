# The tree's own models, run by the command line.
TESTS += test-shipped

.PHONY: test-shipped
## Test the models that the tree ships: digits on all pictures that its training never saw, edges with its fallback.
test-shipped: $(TINYORT) $(CUDASIM_LIBRARY)
	@$(VENV)/bin/python tests/shipped/test.py $(TINYORT) $(BUILD)/tests/shipped
