# The provider for ONNX Runtime: build/libtinyort_onnxruntime.so, which an unchanged onnxruntime loads. The library is in it; the
# provider cuda is opened from tinyort_cuda, as by the package for Python.
PLUGIN := $(BUILD)/libtinyort_onnxruntime.so
PLUGIN_OBJECTS := $(patsubst %.c,$(OBJ)/%.o,$(wildcard runtime/plugin/*.c))
PLUGIN_LIBRARY := $(filter-out $(OBJ)/runtime/build.o,$(LIBRARY_OBJECTS)) $(OBJ)/python_build.o

$(PLUGIN): $(PLUGIN_OBJECTS) $(PLUGIN_LIBRARY) runtime/plugin/exports.map
	@echo "  LINK  $@"
	$(Q)$(LINK_SHARED) -Wl,--version-script=runtime/plugin/exports.map -o $@ $(filter %.o,$^) $(LIBRARY_LIBS) -ldl

.PHONY: plugin
## Build the provider for ONNX Runtime, build/libtinyort_onnxruntime.so, and the other way round the host of its plugins, build/libtinyort_plugin.so.
plugin: $(PLUGIN) $(HOST_LIBRARY)

# The wheel, as those of runtime/python/rules.mk: any Python, old systems, nothing exported but the two entries.
PLUGIN_STAGE := $(BUILD)/wheel_plugin/stage
PLUGIN_PACKED := $(PLUGIN_STAGE)/onnxruntime_ep_tinyort/libtinyort_onnxruntime.so

$(PLUGIN_PACKED): $(PLUGIN_OBJECTS) $(PLUGIN_LIBRARY) $(OBJ)/runtime/python/wheel/old_glibc.o runtime/plugin/exports.map
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) -shared -s -Wl,--gc-sections -Wl,--version-script=runtime/plugin/exports.map -o $@ $(filter %.o,$^) -lprotobuf-c -lm $(OLD_GLIBC_LIBS)

.PHONY: wheel-plugin
## Build the wheel of the provider for ONNX Runtime in build/wheel_plugin: onnxruntime_ep_tinyort, with get_library_path().
wheel-plugin: $(PLUGIN_PACKED) $(BUILD)/wheel/venv/.made
	@cp runtime/plugin/wheel/__init__.py $(PLUGIN_STAGE)/onnxruntime_ep_tinyort
	@cp runtime/plugin/wheel/pyproject.toml runtime/python/cuda/setup.py runtime/plugin/README.md $(PLUGIN_STAGE)
	$(call pack_wheel,$(PLUGIN_STAGE),$(BUILD)/wheel_plugin)
