# What can be left out of a build: lists of operators (OPS), fast kernels and other providers (CPU=plain), instruction sets (SIMD).
TESTS += test-plain
THOROUGH_TESTS += test-builds test-mobilenet

PLAIN_BUILD := $(BUILD)/tests/plain
PLAIN_SIZE ?= 750000 # runs recorded in part, and shapes that kernels count on a device; saved plans of devices keep what kernels chose by trying, and constants that a device alone has; quantized networks stay integers past what lies between their products; factors beside convolutions go into their weights; errors list the names of inputs, sizes and outputs that there are; weights are shared; Unique sorts by keys
# Of a folder, and what else is built so.
smaller_build = $(MAKE) --no-print-directory -s BUILD=$(1) CUDA=0 $(2) $(1)/tinyort $(1)/libtinyort.so

# Bytes of stripped programs with the operators of MobileNetV2 alone, upper bounds: with the loader and messages, without
# messages, and without messages for a saved plan instead of the loader.
MOBILENET_SIZES ?= 286000 250000 184000
# A program of tests/builds: $(1) objects, $(2) libraries.
link_small = @echo "  LINK  $@"; $(LINK_SMALL) -s -o $@ $(1:%=$(OBJ)/tests/builds/%.o) $(LIBRARY) $(2)
$(BUILD)/firmware: $(addprefix $(OBJ)/tests/builds/,firmware.o open_model.o) $(LIBRARY)
	$(call link_small,firmware open_model,$(LIBRARY_LIBS))
$(BUILD)/firmware_plan: $(addprefix $(OBJ)/tests/builds/,firmware.o open_plan.o) $(LIBRARY)
	$(call link_small,firmware open_plan,$(filter-out -lprotobuf-c,$(LIBRARY_LIBS)))
$(BUILD)/save_plan: $(addprefix $(OBJ)/tests/builds/,save_plan.o open_model.o) $(LIBRARY)
	$(call link_small,save_plan open_model,$(LIBRARY_LIBS))

.PHONY: test-plain test-builds test-mobilenet
## Build the reference backend alone (CPU=plain OPS=onnx), at most 750 kB, and run the digits and ONNX's backend cases of its own domain on it, but VGG-19 (it would take half the time, and AlexNet has its operators).
test-plain: $(BUILD)/node-cases/cases.json
	@$(call smaller_build,$(PLAIN_BUILD),CPU=plain OPS=onnx)
	@sh tests/builds/test.sh $(PLAIN_BUILD) $(if $(filter -O3 -g1x86_64,$(OPT)$(SANITIZE)$(MACHINE)),$(PLAIN_SIZE))
	@$(VENV)/bin/python tests/node/run.py $(PLAIN_BUILD)/tinyort $(NODE_CASES) tests/node/expected.txt --without ai_onnx_ml --without light_vgg19

## Build with fewer operators and with one instruction set, and run the digits on each build.
test-builds:
	@$(call smaller_build,$(BUILD)/tests/onnx_ml,OPS='onnx ml') && sh tests/builds/test.sh $(BUILD)/tests/onnx_ml
	@$(call smaller_build,$(BUILD)/tests/onnx_microsoft,OPS='onnx microsoft') && sh tests/builds/test.sh $(BUILD)/tests/onnx_microsoft
	@$(call smaller_build,$(BUILD)/tests/one_set,SIMD=$(firstword $(SIMD_SETS))) && sh tests/builds/test.sh $(BUILD)/tests/one_set

## Build programs with the operators of a small MobileNetV2 alone (OPS=FILE, CPU=plain): below 250 kB without messages, 184 kB for a saved plan; compare their scores with the full build's.
test-mobilenet: $(TINYORT)
	@MAKE="$(MAKE)" sh tests/builds/mobilenet.sh $(TINYORT) $(BUILD)/tests/mobilenet $(VENV)/bin/python $(if $(filter -O3 -g1x86_64,$(OPT)$(SANITIZE)$(MACHINE)),$(MOBILENET_SIZES))
