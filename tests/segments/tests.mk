# A provider that compiles segments: its unit tests are in tests/unit/segments.c.
$(BUILD)/tests/unit: $(OBJ)/tests/segments/engine_provider.o
