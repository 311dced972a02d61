# What can be left out of a build: lists of operators (OPS), fast kernels and other providers (CPU=plain), instruction sets (SIMD).
TESTS += test-plain test-mobilenet
THOROUGH_TESTS += test-builds

PLAIN_BUILD := $(BUILD)/tests/plain
PLAIN_SIZE ?= 700000
# Of a folder, and what else is built so.
smaller_build = $(MAKE) --no-print-directory -s BUILD=$(1) CUDA=0 $(2) $(1)/tinyort $(1)/libtinyort.so

# Bytes of a stripped program with the loader and the operators of MobileNetV2 alone: an upper bound.
MOBILENET_SIZE ?= 310000
$(BUILD)/firmware: $(OBJ)/tests/builds/firmware.o $(LIBRARY)
	@echo "  LINK  $@"
	$(Q)$(LINK_SMALL) -s -o $@ $^ $(LIBRARY_LIBS)

.PHONY: test-plain test-builds test-mobilenet
## Build the reference backend alone (CPU=plain OPS=onnx), below 700 kB, and run the digits and ONNX's backend cases of its own domain on it.
test-plain: $(BUILD)/node-cases/cases.json
	@$(call smaller_build,$(PLAIN_BUILD),CPU=plain OPS=onnx)
	@sh tests/builds/test.sh $(PLAIN_BUILD) $(if $(filter -O3 -g1x86_64,$(OPT)$(SANITIZE)$(MACHINE)),$(PLAIN_SIZE))
	@$(VENV)/bin/python tests/node/run.py $(PLAIN_BUILD)/tinyort $(NODE_CASES) tests/node/expected.txt --without ai_onnx_ml

## Build with fewer operators and with one instruction set, and run the digits on each build.
test-builds:
	@$(call smaller_build,$(BUILD)/tests/onnx_ml,OPS='onnx ml') && sh tests/builds/test.sh $(BUILD)/tests/onnx_ml
	@$(call smaller_build,$(BUILD)/tests/onnx_microsoft,OPS='onnx microsoft') && sh tests/builds/test.sh $(BUILD)/tests/onnx_microsoft
	@$(call smaller_build,$(BUILD)/tests/one_set,SIMD=$(firstword $(SIMD_SETS))) && sh tests/builds/test.sh $(BUILD)/tests/one_set

## Build a program with the operators of a small MobileNetV2 alone (OPS=FILE, CPU=plain), below 310 kB, and compare its scores with the full build's.
test-mobilenet: $(TINYORT)
	@MAKE="$(MAKE)" sh tests/builds/mobilenet.sh $(TINYORT) $(BUILD)/tests/mobilenet $(VENV)/bin/python $(if $(filter -O3 -g1x86_64,$(OPT)$(SANITIZE)$(MACHINE)),$(MOBILENET_SIZE))
