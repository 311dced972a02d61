# The program in README.md.
TESTS += test-readme

.PHONY: test-readme
## Compile and run the program in README.md.
test-readme: $(LIBRARY)
	@sh tests/readme/test.sh $(BUILD) "$(CC)"
