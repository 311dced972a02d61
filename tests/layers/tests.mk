# How the tree is cut: which folder may include which, how long functions and files may be; and tests of both checks.
TESTS += check-layers test-layers check-sizes test-sizes

.PHONY: test-layers test-sizes
## Test the layer check: planted violations must be found.
test-layers:
	@sh tests/layers/test.sh
## Test the size check: planted lengths must be found.
test-sizes:
	@$(VENV)/bin/python tests/layers/sizes.py
