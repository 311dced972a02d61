# The command line as a user types it.
TESTS += test-cli

.PHONY: test-cli
## Test the command line: exit statuses, messages, inputs, pictures, JSON.
test-cli: $(TINYORT)
	@$(VENV)/bin/python tests/cli/run.py $(TINYORT)
