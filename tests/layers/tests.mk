# The test of the layer check itself, by planted violations.
TESTS += test-layers

.PHONY: test-layers
## Test the layer check: planted violations must be found.
test-layers:
	@sh tests/layers/test.sh
