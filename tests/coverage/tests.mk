# Which branches of the readers of models and saved plans run in the tests: a build by clang with counters in $(BUILD)/coverage.

THOROUGH_TESTS += test-coverage
COVERAGE := $(BUILD)/coverage
# Percent of the branches of loader/ and runtime/core/saved/. The rest is calls of the system that fail only on a broken machine.
COVERAGE_LEAST := 95

.PHONY: test-coverage
## Count which branches of loader/ and runtime/core/saved/ the tests take; fail where they are too few.
test-coverage: $(BUILD)/node-cases/cases.json
	@$(MAKE) --no-print-directory BUILD=$(COVERAGE) CC=clang CXX=clang++ CUDA=0 OPT='-O1 -g1' \
	    CFLAGS='-fprofile-instr-generate -fcoverage-mapping -Wno-pass-failed' $(COVERAGE)/tests/unit $(COVERAGE)/tinyort \
	    $(addprefix $(COVERAGE)/tests/,write_plans replay/load_and_plan replay/load_and_run replay/saved_plan replay/tensor_file)
	@$(VENV)/bin/python tests/coverage/coverage.py $(COVERAGE) $(BUILD)/node-cases $(COVERAGE_LEAST)
