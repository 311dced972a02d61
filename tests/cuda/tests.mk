# Tests of the CUDA kernels. The same program runs on the simulated device here and on a GPU by `kernels cuda`.

CUDA_TEST_OBJECTS := $(patsubst %.c,$(OBJ)/%.o,$(wildcard tests/cuda/*.c))

$(BUILD)/tests/cuda/kernels: $(CUDA_TEST_OBJECTS) $(OBJ)/tests/onnx_bytes.o $(LIBRARY)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) -o $@ $^ $(LIBRARY_LIBS) -ldl

ifneq ($(CUDASIM_CXX),)
TESTS += test-cuda-kernels

.PHONY: test-cuda-kernels
## Hold every CUDA kernel against the plain loops, on the simulated device.
test-cuda-kernels: $(BUILD)/tests/cuda/kernels $(CUDASIM_LIBRARY)
	LD_LIBRARY_PATH=$(BUILD) $(BUILD)/tests/cuda/kernels cudasim
endif
