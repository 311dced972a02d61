# Providers that compile segments, for readers. Its unit tests are in tests/unit/segments.c; here is a command line that has them.
TESTS += test-segments

SEGMENTS_OBJECTS := $(patsubst %,$(OBJ)/tests/segments/%.o,engine_provider ahead_provider providers)

.PHONY: test-segments
## What a user sees of segments: plans, runs, errors.
test-segments: $(BUILD)/tests/tinyort-segments
	@$(VENV)/bin/python tests/segments/run.py $<

$(BUILD)/tests/tinyort-segments: $(CLI_OBJECTS) $(EXTRA_LIBRARY) $(SEGMENTS_OBJECTS) $(LIBRARY)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) -o $@ $^ $(EXTRA_LIBS) $(CLI_LIBS) $(LIBRARY_LIBS)

$(BUILD)/tests/unit: $(OBJ)/tests/segments/engine_provider.o $(OBJ)/tests/segments/ahead_provider.o
