# Numbers and words in text under the locale of an application: a decimal comma, and in Turkish no 'i' for 'I'.
TESTS += test-locale
THOROUGH_TESTS += test-locale-all

LOCALES := $(BUILD)/tests/locales
FOREIGN := $(BUILD)/tests/foreign.so
TURKISH := LOCPATH=$(abspath $(LOCALES)) LC_ALL=tr_TR.UTF-8 LD_PRELOAD=$(abspath $(FOREIGN))

.PHONY: test-locale
## Run the package for Python and the command line under German and Turkish locales: the same numbers, plans, files and words.
test-locale: python $(TINYORT) $(FOREIGN) $(LOCALES)
	@LOCPATH=$(abspath $(LOCALES)) PYTHONPATH=$(abspath $(BUILD)/python) $(VENV)/bin/python tests/locale/run.py $(TINYORT) $(FOREIGN) $(LOCALES)

.PHONY: test-locale-all
## Run all unit tests and all of ONNX's backend cases under a Turkish locale.
test-locale-all: $(BUILD)/tests/unit $(TINYORT) $(BUILD)/node-cases/cases.json $(FOREIGN) $(LOCALES)
	@if [ -d $(LOCALES)/tr_TR.UTF-8 ]; then \
	    $(TURKISH) $(BUILD)/tests/unit --jobs 2 && \
	    $(TURKISH) $(VENV)/bin/python tests/node/run.py $(TINYORT) $(NODE_CASES) tests/node/expected.txt; \
	else echo "skipped: a Turkish locale: localedef made none here"; echo "locale-all: 0 passed, 0 failed, 1 skipped"; fi

$(FOREIGN): tests/locale/foreign.c
	@mkdir -p $(@D)
	$(Q)$(CC) -shared -fPIC -o $@ $<

# Without localedef, or what it reads, the folder stays empty, and the tests say so.
$(LOCALES):
	@mkdir -p $@
	@for name in de_DE tr_TR; do localedef -i $$name -f UTF-8 $@/$$name.UTF-8 || true; done
