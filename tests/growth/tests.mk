# How planning grows with the graph: a measurement, not a test (tests/unit/growth.c has a limit that only a square would reach).

.PHONY: bench-growth
## Time planning of a chain and a fan of 10,000 and 50,000 nodes; NODES=N for others, NODES='FILE...' for new shapes of models.
bench-growth: $(BUILD)/tests/growth
	$(BUILD)/tests/growth $(NODES)

$(BUILD)/tests/growth: $(OBJ)/tests/growth/growth.o $(OBJ)/tests/build_model.o $(OBJ)/tests/report_of.o $(LIBRARY)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) -o $@ $^ $(LIBRARY_LIBS)
