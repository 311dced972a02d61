# Contexts that run for a long time hold no more memory in the end; in `make test` for some seconds. SECONDS is that of tests/fuzz.
TESTS += test-soak

.PHONY: soak test-soak
## Run eight contexts of a session, with changing shapes, for SECONDS (600) seconds; fails when bytes or resident memory grow.
soak: $(BUILD)/tests/soak
	@$(BUILD)/tests/soak $(SECONDS)

## The same for some seconds: 2,000 runs of each context, and the bytes alone.
test-soak: $(BUILD)/tests/soak
	@$(BUILD)/tests/soak 0 2000

$(BUILD)/tests/soak: $(patsubst %,$(OBJ)/tests/%.o,soak/soak side_models counting_env onnx_bytes) $(LIBRARY)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) -o $@ $^ $(LIBRARY_LIBS)
