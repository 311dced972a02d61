# How planning grows with the graph, and what it costs beside a run: measurements, not tests (tests/unit/growth.c has a limit that only a
# square would reach).

.PHONY: bench-growth bench-tokens
## Time planning of a chain and a fan of 10,000 and 50,000 nodes; NODES=N for others, NODES='FILE...' for new shapes of models.
bench-growth: $(BUILD)/tests/growth
	$(BUILD)/tests/growth $(NODES)

## Time 500 tokens of a small decoder, and the part of it that planning takes; DECODER='LAYERS WIDTH' for another.
bench-tokens: $(BUILD)/tests/tokens
	$(BUILD)/tests/tokens $(DECODER)

$(BUILD)/tests/growth: $(OBJ)/tests/growth/growth.o $(OBJ)/tests/build_model.o $(OBJ)/tests/report_of.o $(LIBRARY)
$(BUILD)/tests/tokens: $(OBJ)/tests/growth/tokens.o $(OBJ)/tests/decoder.o $(OBJ)/tests/onnx_bytes.o $(OBJ)/tests/counting_env.o $(LIBRARY)
$(BUILD)/tests/growth $(BUILD)/tests/tokens:
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) -o $@ $^ $(LIBRARY_LIBS)
