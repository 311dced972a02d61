# Plans of small models against those written down. The kernels of cpu are those of x86-64.
ifeq ($(MACHINE),x86_64)
TESTS += test-golden
endif

.PHONY: test-golden
## Hold the plans of small models against the files in tests/golden.
test-golden: $(TINYORT)
	@$(VENV)/bin/python tests/golden/run.py $(TINYORT)
