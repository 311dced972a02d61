# How loading and planning grow with the file, counted and not timed; and measurements of time, which are no tests.

THOROUGH_TESTS += test-growth
GROWTH := $(BUILD)/growth
.PHONY: test-growth
## Count the work of loading and planning, by clang's counters of code: twice the file may take 2.2 times as much.
test-growth: FORCE
	@$(MAKE) --no-print-directory BUILD=$(GROWTH) CC=clang CXX=clang++ CUDA=0 OPT=-O1 \
	    CFLAGS='-fprofile-instr-generate -Wno-pass-failed' $(GROWTH)/tests/work
	@LLVM_PROFILE_FILE=/dev/null $(GROWTH)/tests/work $(FAMILY)

$(BUILD)/tests/work: $(OBJ)/tests/growth/work.o $(addprefix $(OBJ)/tests/,adversarial_graph.o adversarial_contents.o adversarial_bodies.o \
    dense_messages.o onnx_bytes.o saved_plan.o) $(LIBRARY)

.PHONY: bench-growth bench-tokens
## Time planning of a chain and a fan of 10,000 and 50,000 nodes; NODES=N for others, NODES='FILE...' for new shapes of models.
bench-growth: $(BUILD)/tests/growth
	$(BUILD)/tests/growth $(NODES)

## Time 500 tokens of a small decoder, and the part of it that planning takes; DECODER='LAYERS WIDTH' for another.
bench-tokens: $(BUILD)/tests/tokens
	$(BUILD)/tests/tokens $(DECODER)

$(BUILD)/tests/growth: $(OBJ)/tests/growth/growth.o $(OBJ)/tests/build_model.o $(OBJ)/tests/report_of.o $(LIBRARY)
$(BUILD)/tests/tokens: $(OBJ)/tests/growth/tokens.o $(OBJ)/tests/decoder.o $(OBJ)/tests/onnx_bytes.o $(OBJ)/tests/counting_env.o $(LIBRARY)
$(BUILD)/tests/growth $(BUILD)/tests/tokens $(BUILD)/tests/work:
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) -o $@ $^ $(LIBRARY_LIBS)
