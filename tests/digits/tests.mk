# The tree's own model, run by the command line on all pictures that its training never saw.
TESTS += test-digits

.PHONY: test-digits
## Test models/digits.onnx: its stated accuracy on held-back pictures, and the ten PNG pictures.
test-digits: $(TINYORT)
	@$(VENV)/bin/python tests/digits/test.py $(TINYORT) $(BUILD)/tests/digits
