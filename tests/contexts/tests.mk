# Contexts side by side on one session; as a test of values, and under the thread sanitizer.
TESTS += test-contexts test-contexts-tsan

CONTEXTS_OBJECTS := $(patsubst %,$(OBJ)/tests/%.o,contexts/contexts build_model report_of fake_provider fault_provider)

.PHONY: test-contexts
## Run contexts of one session side by side, with shapes that are planned meanwhile.
test-contexts: $(BUILD)/tests/contexts
	@$(BUILD)/tests/contexts

$(BUILD)/tests/contexts: $(CONTEXTS_OBJECTS) $(LIBRARY)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) -o $@ $^ $(LIBRARY_LIBS)

.PHONY: test-contexts-tsan
## The same under the thread sanitizer.
test-contexts-tsan: $(BUILD)/tsan/tests/contexts
	@TSAN_OPTIONS=halt_on_error=1 $(BUILD)/tsan/tests/contexts

# The library again: a make of its own, which knows what is up to date. Without optimization it compiles in half the time, and the
# test takes fifteen times as long.
$(BUILD)/tsan/tests/contexts: FORCE
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/tsan CUDA=0 SANITIZE=thread OPT='-O1 -g1' $@
