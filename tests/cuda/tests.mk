# Tests of the CUDA kernels. The same program runs on the simulated device here, with each way of building it (see
# tests/cudasim/tests.mk), and on a GPU by `kernels cuda`.

CUDA_PROVIDER_TEST_OBJECTS := $(patsubst %,$(OBJ)/tests/%.o,cuda/provider cuda/provider_model onnx_bytes counting_env)
CUDA_TEST_OBJECTS := $(filter-out $(CUDA_PROVIDER_TEST_OBJECTS),$(patsubst %.c,$(OBJ)/%.o,$(wildcard tests/cuda/*.c))) \
    $(OBJ)/tests/onnx_bytes.o
CUDA_TESTS := $(BUILD)/tests/cuda

$(CUDA_TESTS)/kernels: $(CUDA_TEST_OBJECTS) $(LIBRARY)
$(CUDA_TESTS)/provider: $(CUDA_PROVIDER_TEST_OBJECTS) $(LIBRARY)
$(CUDA_TESTS)/kernels $(CUDA_TESTS)/provider:
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) -o $@ $^ $(LIBRARY_LIBS) -ldl

ifneq ($(CUDASIM_CXX),)
TESTS += test-cuda-kernels test-cuda-provider

# The program finds the shared object by LD_LIBRARY_PATH: one folder a mode.
CUDA_KERNEL_MODES := asan race gcc
CUDA_KERNEL_LINK_asan := clang++ -shared -shared-libasan -fsanitize=address,undefined
CUDA_KERNEL_LINK_race := clang++ -shared
CUDA_KERNEL_LINK_gcc := g++ -shared -fsanitize=undefined
CUDA_KERNEL_RUN_asan = LD_PRELOAD=$(shell clang++ -print-file-name=libclang_rt.asan-$(MACHINE).so)

define cuda_kernel_mode
$(CUDA_TESTS)/$(1)/libtinyort-cudasim.so: $(call cudasim_simulator,$(1)) $(call cudasim_provider,$(1)) $(LIBRARY) \
    kernels/cudasim/exports.map
	@mkdir -p $$(@D)
	@echo "  LINK  $$@"
	$$(Q)$$(CUDA_KERNEL_LINK_$(1)) -Wl,--version-script=kernels/cudasim/exports.map -o $$@ $$(filter %.o %.a,$$^) $$(LIBRARY_LIBS)
endef
$(foreach mode,$(CUDA_KERNEL_MODES),$(eval $(call cuda_kernel_mode,$(mode))))

.PHONY: test-cuda-kernels
## Hold every CUDA kernel against the plain loops, on the simulated device: plain, sanitizers, race checker.
test-cuda-kernels: $(CUDA_TESTS)/kernels $(CUDASIM_LIBRARY) $(CUDA_KERNEL_MODES:%=$(CUDA_TESTS)/%/libtinyort-cudasim.so)
	@status=0; \
	echo "kernels ($(CUDASIM_MODE))"; LD_LIBRARY_PATH=$(BUILD) $(CUDA_TESTS)/kernels cudasim || status=1; \
	$(foreach mode,$(CUDA_KERNEL_MODES),echo "kernels ($(mode))"; \
	    $(CUDA_KERNEL_RUN_$(mode)) LD_LIBRARY_PATH=$(CUDA_TESTS)/$(mode) $(CUDA_TESTS)/kernels --brief cudasim || status=1;) \
	exit $$status
endif

ifneq ($(CUDASIM_CXX),)
TESTS += test-cuda-networks

.PHONY: test-cuda-provider
## Test the CUDA provider on the simulated device: why it does not open, each call that fails, devices, limits.
test-cuda-provider: $(CUDA_TESTS)/provider $(CUDASIM_LIBRARY)
	LD_LIBRARY_PATH=$(BUILD) $(CUDA_TESTS)/provider tests/cuda/probing.expected

.PHONY: test-cuda-networks
## Small networks of well-known families on the simulated device, against cpu.
test-cuda-networks: $(TINYORT) $(CUDASIM_LIBRARY)
	@$(VENV)/bin/python tests/cuda/networks.py $(TINYORT)
endif
