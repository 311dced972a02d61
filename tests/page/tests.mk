# What a browser makes of the page of a plan. Not part of `make test`, as it needs Chromium.
THOROUGH_TESTS += test-page

PAGE_VENV := $(BUILD)/page_venv

.PHONY: test-page
## Open the pages of plans in headless Chromium (installed from Debian): clicks, filters, keys, sizes, 2,000 nodes, no error on the console.
test-page: $(TINYORT)
	@.ci/setup.sh browser page=$(PAGE_VENV)
	@$(PAGE_VENV)/bin/python tests/page/run.py $(TINYORT) $(VENV)/bin/python $(SHOTS)
