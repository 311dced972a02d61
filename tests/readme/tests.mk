# The program and the commands in README.md, and what it says that can be looked up.
TESTS += test-readme test-readme-commands test-readme-names

.PHONY: test-readme
## Compile and run the program in README.md.
test-readme: $(LIBRARY)
	@sh tests/readme/test.sh $(BUILD) "$(CC)"

.PHONY: test-readme-commands
## Run the commands in README.md against what it shows; look up the targets, files, options and figures that it names.
test-readme-commands: $(TINYORT) $(CUDASIM_LIBRARY)
	@$(VENV)/bin/python tests/readme/commands.py $(TINYORT)

.PHONY: test-readme-names
## See that no command in a page or a message installs from an index under a name that the project does not own.
test-readme-names:
	@$(VENV)/bin/python tests/readme/names.py
