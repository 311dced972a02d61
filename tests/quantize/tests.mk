# Models that `tinyort quantize` and `tinyort convert` make.
TESTS += test-quantize

.PHONY: test-quantize
## Quantize and convert small models, and run the results with onnxruntime, on cpu and on the simulated device; what is refused.
test-quantize: $(TINYORT) $(CUDASIM_LIBRARY)
	@$(VENV)/bin/python tests/quantize/run.py $(TINYORT)
	@$(VENV)/bin/python tests/quantize/convert.py $(TINYORT)
