# How planning grows with the graph: a measurement, not a test (tests/unit/growth.c has a limit that only a square would reach).

.PHONY: bench-growth
## Time planning of a chain and a fan of 10,000 and 50,000 nodes; what grows with their square shows. NODES=N for others.
bench-growth: $(BUILD)/tests/growth
	$(BUILD)/tests/growth $(NODES)

$(BUILD)/tests/growth: $(OBJ)/tests/growth/growth.o $(OBJ)/tests/build_model.o $(LIBRARY)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) -o $@ $^ $(LIBRARY_LIBS)
