# Operators of com.microsoft for which onnxruntime has no kernel on the CPU, or none for small floats, against formulas in NumPy.
TESTS += test-microsoft

.PHONY: test-microsoft
## Run operators of com.microsoft that only other devices of onnxruntime have, and hold them against formulas.
test-microsoft: $(TINYORT) $(CUDASIM_LIBRARY)
	$(VENV)/bin/python tests/microsoft/formulas.py $(TINYORT)
	$(VENV)/bin/python tests/microsoft/decoding.py $(TINYORT)
