# The providers that host plugins of ONNX Runtime, for applications: the library leaves them out.
HOST_LIBRARY := $(BUILD)/libtinyort_plugin.so

$(HOST_LIBRARY): $(HOST_SOURCES:%.c=$(OBJ)/%.o) $(SHARED)
	@echo "  LINK  $@"
	$(Q)$(LINK_SHARED) -Wl,-soname,libtinyort_plugin.so.0 -Wl,--no-undefined -o $@ $(filter %.o,$^) -L$(BUILD) -ltinyort -ldl

.PHONY: plugin-host
## Build the library of the providers that host plugins of ONNX Runtime: tort_provider_plugin, tort_provider_openvino and others.
plugin-host: $(HOST_LIBRARY)
