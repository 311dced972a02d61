# The archive of sources, as someone without git has it: it is compiled from nothing.
THOROUGH_TESTS += test-dist

.PHONY: test-dist
## Test that make dist packs the last commit, always as the same bytes, and that this builds and runs without git.
test-dist:
	@CC="$(CC)" CXX="$(CXX)" MAKE="$(MAKE)" sh tests/dist/test.sh $(BUILD)/tests/dist
