# Peak memory on a model of a gigabyte; takes disk space and a minute or two, and is not part of `make test`.

.PHONY: test-memory
## Test that a model of 1 GB is planned and run in 1.1 GB (writes up to 1 GB into the build folder).
test-memory: $(TINYORT)
	@.ci/setup.sh venv=$(VENV)
	@sh tests/memory/test.sh $(TINYORT) $(VENV)/bin/python $(BUILD)/memory
