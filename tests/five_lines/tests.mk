# The ways to install it, as runtime/README.md shows them. It compiles the library for each: seven times, if ccache has none of it.
THOROUGH_TESTS += test-five-lines

.PHONY: test-five-lines
## Run each block of "Five lines to a digit" in runtime/README.md in a clean clone; BLOCKS='make deb' for some.
test-five-lines:
	@CCACHE="$(CCACHE)" python3 tests/five_lines/run.py $(BUILD)/tests/five_lines $(BLOCKS)
