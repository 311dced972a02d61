# How much work a run does after it was told to end: whoever cancels, or sets a time limit, waits for that. Each operator has a long node.
TESTS += test-ending
THOROUGH_TESTS += test-ending-thoroughly
ENDING := $(BUILD)/ending
ENDING_QUESTIONS := 3 12

.PHONY: test-ending test-ending-thoroughly
## Count the work that a long node of each operator does after its run was told to end.
test-ending: $(TINYORT) FORCE
	@$(MAKE) --no-print-directory BUILD=$(ENDING) CUDA=0 OPT=-O1 CPPFLAGS=-fsanitize-coverage=trace-pc $(ENDING)/tests/ending
	@$(VENV)/bin/python tests/ending/ending.py $(TINYORT) $(ENDING)/tests/ending --questions $(ENDING_QUESTIONS) $(ENDING_ALL) $(if $(ONLY),--only $(ONLY))

## The same for all long nodes, and each of 60 questions whether the run goes on.
test-ending-thoroughly: test-setup
	@$(MAKE) --no-print-directory test-ending ENDING_ALL=--all ENDING_QUESTIONS="$$(seq -s ' ' 60)"

WRAPPED := tort_watch_begin tort_watch_goes_on memcpy memmove memset
$(OBJ)/tests/ending/%.o: override CPPFLAGS :=
$(BUILD)/tests/ending: $(OBJ)/tests/ending/ending.o $(EXTRA_LIBRARY) $(LIBRARY)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) -no-pie $(WRAPPED:%=-Wl,--wrap=%) -o $@ $^ $(EXTRA_LIBS) $(LIBRARY_LIBS)
