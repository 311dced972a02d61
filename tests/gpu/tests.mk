# What only a GPU can tell. Not part of `make test`; tests/gpu/RESULTS.md holds what it said. The program needs the C library and
# NVIDIA's driver alone, so that it can be built here and carried to a machine with a GPU.

ifneq ($(CUDA_LIBRARY),)
$(BUILD)/tests/gpu/kernels: $(CUDA_TEST_OBJECTS) $(CUDA_PROVIDERS) $(LIBRARY) $(CUDA_LIBRARY)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) -o $@ $^ $(LIBRARY_LIBS:-lprotobuf-c=-l:libprotobuf-c.a) $(CUDA_LIBS)

.PHONY: gpu-check
## Run the case table of every CUDA kernel on this machine's GPU, with compute-sanitizer where it is installed.
gpu-check: $(BUILD)/tests/gpu/kernels $(TINYORT)
	@sh tests/gpu/check.sh $(BUILD)/tests/gpu/kernels $(TINYORT)
endif
