# Models that `tinyort quantize` makes.
TESTS += test-quantize

.PHONY: test-quantize
## Quantize small models, and run the results with onnxruntime, on cpu and on the simulated device; what is refused.
test-quantize: $(TINYORT) $(CUDASIM_LIBRARY)
	@$(VENV)/bin/python tests/quantize/run.py $(TINYORT)
