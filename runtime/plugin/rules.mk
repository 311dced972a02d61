# The provider for ONNX Runtime: build/libtinyort_onnxruntime.so, which an unchanged onnxruntime loads. The library is in it; the
# provider cuda is opened from tinyort_cuda, as by the package for Python.
PLUGIN := $(BUILD)/libtinyort_onnxruntime.so
PLUGIN_OBJECTS := $(patsubst %.c,$(OBJ)/%.o,$(wildcard runtime/plugin/*.c))
PLUGIN_LIBRARY := $(filter-out $(OBJ)/runtime/build.o,$(LIBRARY_OBJECTS)) $(OBJ)/python_build.o

$(PLUGIN): $(PLUGIN_OBJECTS) $(PLUGIN_LIBRARY) runtime/plugin/exports.map
	@echo "  LINK  $@"
	$(Q)$(LINK_SHARED) -Wl,--version-script=runtime/plugin/exports.map -o $@ $(filter %.o,$^) $(LIBRARY_LIBS) -ldl

.PHONY: plugin
## Build the provider for ONNX Runtime, build/libtinyort_onnxruntime.so.
plugin: $(PLUGIN)
