# The host of plugins of ONNX Runtime, with a plugin that misbehaves.
TESTS += test-plugin-host

HOSTILE := $(BUILD)/tests/libhostile.so

.PHONY: test-plugin-host
## What a user sees of plugins that fail, lie, or are not found.
test-plugin-host: $(TINYORT) $(HOSTILE)
	@$(VENV)/bin/python tests/plugin_host/run.py $(TINYORT) $(HOSTILE)

$(HOSTILE): $(OBJ)/tests/plugin_host/hostile.o
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK_SHARED) -o $@ $<
