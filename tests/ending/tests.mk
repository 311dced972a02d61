# How much work is between two questions whether a run goes on: whoever cancels, or sets a time limit, waits for that.
THOROUGH_TESTS += test-ending
ENDING := $(BUILD)/growth

.PHONY: test-ending
## Count the work, by clang's counters of code, that one long node of each family does after its run was cancelled.
test-ending: FORCE test-setup
	@$(MAKE) --no-print-directory BUILD=$(ENDING) CC=clang CXX=clang++ CUDA=0 OPT=-O1 \
	    CFLAGS='-fprofile-instr-generate -Wno-pass-failed' $(ENDING)/tests/gaps
	@LLVM_PROFILE_FILE=/dev/null $(VENV)/bin/python tests/ending/ending.py $(ENDING)/tests/gaps $(FAMILY)

WRAPPED := tort_watch_begin tort_watch_goes_on tort_watch_fail memcpy memmove memset
$(BUILD)/tests/gaps: $(OBJ)/tests/ending/gaps.o $(CLI_OBJECTS) $(EXTRA_LIBRARY) $(LIBRARY)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) $(WRAPPED:%=-Wl,--wrap=%) -o $@ $^ $(EXTRA_LIBS) $(CLI_LIBS) $(LIBRARY_LIBS)
