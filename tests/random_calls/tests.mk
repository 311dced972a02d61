# Random calls of the library: a short while in `make test`, and long under the sanitizers.
TESTS += test-random-calls
THOROUGH_TESTS += test-random-calls-sanitized

CALLS ?= 100000
SEED ?= 1
RANDOM_CALLS_OBJECTS := $(patsubst %,$(OBJ)/tests/%.o,$(addprefix random_calls/,random_calls calls contexts world) counting_env saved_plan \
    side_models onnx_bytes)

.PHONY: test-random-calls test-random-calls-sanitized
## Call the library's functions 4,000 times in random order, with NULL, failing allocations, cancelled runs and threads.
test-random-calls: $(BUILD)/tests/random_calls
	@$(BUILD)/tests/random_calls 4000

## The same CALLS (100,000) times from SEED (1) on, under the address, undefined-behaviour and thread sanitizers.
test-random-calls-sanitized: $(BUILD)/asan/tests/random_calls $(BUILD)/tsan/tests/random_calls
	@$(BUILD)/asan/tests/random_calls $(CALLS) $(SEED)
	@TSAN_OPTIONS=halt_on_error=1 $(BUILD)/tsan/tests/random_calls $(CALLS) $(SEED)

$(BUILD)/tests/random_calls: $(RANDOM_CALLS_OBJECTS) $(LIBRARY)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) -o $@ $^ $(LIBRARY_LIBS)

# Libraries of their own, as in tests/contexts and for `make asan`.
$(BUILD)/asan/tests/random_calls: FORCE
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/asan CUDA=0 SANITIZE=address,undefined OPT='-O1 -g' $@
$(BUILD)/tsan/tests/random_calls: FORCE
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/tsan CUDA=0 SANITIZE=thread OPT='-O1 -g1' $@
