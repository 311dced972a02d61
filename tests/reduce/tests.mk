# `tinyort reduce` on networks with a planted fault.
TESTS += test-reduce

REDUCE := $(BUILD)/tests/tinyort-wrong

.PHONY: test-reduce
## Plant a fault in networks of 500 nodes and more, and let `tinyort reduce` find it.
test-reduce: $(REDUCE)
	@$(VENV)/bin/python tests/reduce/run.py $(REDUCE)

$(REDUCE): $(CLI_OBJECTS) $(EXTRA_LIBRARY) $(OBJ)/tests/reduce/wrong_provider.o $(LIBRARY)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) -o $@ $^ $(EXTRA_LIBS) $(CLI_LIBS) $(LIBRARY_LIBS)
