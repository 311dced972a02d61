# What a choice costs or pays: two sessions of one model, run in turns. A measurement, not a test.

.PHONY: bench-fusion
## Time models with and without fusion, in turns, at one thread: MODELS='FILE...', SIZE=N for open dimensions, EACH=S seconds.
bench-fusion: $(BUILD)/tests/ratio
	@for model in $(MODELS); do $(BUILD)/tests/ratio $$model $(or $(SIZE),128) $(or $(EACH),10) || exit 1; done

$(BUILD)/tests/ratio: $(OBJ)/tests/ratio/ratio.o $(LIBRARY)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) -o $@ $^ $(LIBRARY_LIBS)
