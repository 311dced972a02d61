# A provider with a layout of its own, for readers. Its unit tests are in tests/unit/layouts.c; here is a command line that has it.
TESTS += test-layouts

LAYOUTS_OBJECTS := $(patsubst %,$(OBJ)/tests/layouts/%.o,channels_provider providers)

.PHONY: test-layouts
## What a user sees of layouts: plans, runs, comparisons.
test-layouts: $(BUILD)/tests/tinyort-layouts
	@$(VENV)/bin/python tests/layouts/run.py $<

$(BUILD)/tests/tinyort-layouts: $(CLI_OBJECTS) $(EXTRA_LIBRARY) $(LAYOUTS_OBJECTS) $(LIBRARY)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) -o $@ $^ $(EXTRA_LIBS) $(CLI_LIBS) $(LIBRARY_LIBS)

$(BUILD)/tests/unit: $(OBJ)/tests/layouts/channels_provider.o
