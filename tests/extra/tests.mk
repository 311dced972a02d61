# The operators of libtinyort_extra, with their libraries and without.
TESTS += test-extra

.PHONY: test-extra
## Decode pictures of all kinds and match patterns, split texts from the command line; what is refused, and how.
test-extra: $(TINYORT) $(BUILD)/tests/tinyort-no-extra
	@$(VENV)/bin/python tests/extra/run.py $^

# As it is where none of the libraries is installed.
$(OBJ)/no_extra.o: ops/extra/extra.c $(OBJ)/flags
	@mkdir -p $(@D)
	@echo "  CC    $< (without libraries)"
	$(Q)$(COMPILE) $(WARNINGS) -c -o $@ $<

$(BUILD)/tests/tinyort-no-extra: $(CLI_OBJECTS) $(OBJ)/no_extra.o $(CUDA_BUILD) $(LIBRARY) $(CUDA_LIBRARY)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) -o $@ $^ $(CLI_LIBS) $(LIBRARY_LIBS) $(CUDA_LIBS)
