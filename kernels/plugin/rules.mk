# The providers that host plugins of ONNX Runtime, for applications: the library leaves them out (make plugin).
HOST_LIBRARY := $(BUILD)/libtinyort_plugin.so

$(HOST_LIBRARY): $(HOST_SOURCES:%.c=$(OBJ)/%.o) $(SHARED)
	@echo "  LINK  $@"
	$(Q)$(LINK_SHARED) -Wl,-soname,libtinyort_plugin.so.0 -Wl,--no-undefined -o $@ $(filter %.o,$^) -L$(BUILD) -ltinyort -ldl
