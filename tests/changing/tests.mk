# Random nodes of each operator whose inputs change while they run. The library is instrumented as for the thread sanitizer; what
# stands in for the sanitizer (changing.c) changes whatever is read again. Not optimized: each read of the source is one.
TESTS += test-changing

CHANGING := $(BUILD)/changing
CHANGING_CASES := 3000
CHANGING_FLAGS := -fsanitize=thread $(addprefix -fno-builtin-,memcpy memmove memcmp) -Wno-sign-conversion

.PHONY: test-changing
## Run random nodes of each operator whose inputs change between two reads: nothing may be read or written out of bounds.
test-changing: $(TINYORT) FORCE
	@$(MAKE) --no-print-directory BUILD=$(CHANGING) CUDA=0 OPT='-O0 -g1' CPPFLAGS='$(CHANGING_FLAGS)' $(CHANGING)/tests/changing
	@$(FUZZ_OPS_RUN) --harness $(CHANGING)/tests/changing --tinyort $(TINYORT) --folder $(CHANGING)/cases \
	    --cases $(CHANGING_CASES) --rows --changing --short changing $(if $(REPLAY),--replay $(REPLAY))

$(OBJ)/tests/changing/%.o: override CPPFLAGS :=
$(BUILD)/tests/changing: $(patsubst %,$(OBJ)/tests/%.o,changing/changing changing/guarded fuzz_ops/harness) $(EXTRA_LIBRARY) $(LIBRARY)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) $(patsubst %,-Wl$(comma)--wrap=%,memcpy memmove memcmp tort_context_run) -o $@ $^ $(EXTRA_LIBS) $(LIBRARY_LIBS)
