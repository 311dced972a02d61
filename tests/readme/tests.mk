# The program in README.md.
TESTS += test-readme

.PHONY: test-readme
test-readme: $(LIBRARY)
	@sh tests/readme/test.sh $(BUILD) $(CC)
