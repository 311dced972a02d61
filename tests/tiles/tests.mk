# The matrix unit (AMX) on a model of its instructions, kernels/cpu/simd/tiles.h, for machines that have none: tiles by themselves, then a
# build that has the model as an instruction set, v3_tiles.
ifeq ($(MACHINE),x86_64)
TESTS += test-tiles
THOROUGH_TESTS += test-tiles-thoroughly
endif

TILES_BUILD := $(BUILD)/tests/tiles/build
TILES_MAKE = $(MAKE) --no-print-directory BUILD=$(TILES_BUILD) CUDA=0 TILES=model

.PHONY: test-tiles test-tiles-thoroughly
## Run what is written for the matrix unit on a model of its instructions: tiles by themselves, 8-bit operators and products in bfloat16, in double.
test-tiles: $(BUILD)/tests/tiles/tiles test-setup
	@$(BUILD)/tests/tiles/tiles
	@$(TILES_MAKE) $(TILES_BUILD)/tinyort
	@$(VENV)/bin/python tests/bytes/run.py $(TILES_BUILD)/tinyort --isa v3_tiles
	@$(VENV)/bin/python tests/tiles/bf16.py $(TILES_BUILD)/tinyort

## The same, and the unit tests of the kernels of cpu.
test-tiles-thoroughly: test-tiles
	@$(TILES_MAKE) $(TILES_BUILD)/tests/unit
	@$(TILES_BUILD)/tests/unit --filter 'cpu_@(kernels|packing)/*'

$(OBJ)/tests/tiles/tiles.o: override CPPFLAGS += $(SIMD_FLAGS_v2)
$(BUILD)/tests/tiles/tiles: $(OBJ)/tests/tiles/tiles.o
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) -o $@ $^
