# Tests of the CUDA provider and its kernels. The same program runs on the simulated device here, with each way of building it
# (the modes of tests/cudasim/tests.mk, and one that counts which lines run), and on a GPU by `kernels cuda`.

CUDA_PROVIDER_TEST_OBJECTS := $(patsubst %.c,$(OBJ)/%.o,$(wildcard tests/cuda/provider*.c) tests/cuda/simulator.c tests/decoder.c tests/onnx_bytes.c tests/counting_env.c tests/report_of.c)
CUDA_LIBRARY_TEST_OBJECTS := $(patsubst %,$(OBJ)/tests/%.o,cuda/library_rows cuda/library_tester cuda/library_faults cuda/library_trials cuda/library_models cuda/simulator onnx_bytes counting_env report_of saved_plan)
CUDA_LAUNCH_TEST_OBJECTS := $(patsubst %,$(OBJ)/tests/%.o,cuda/launches cuda/network_calls cuda/decoding cuda/speaker cuda/kernel_case cuda/simulator onnx_bytes)
CUDA_TRAFFIC_TEST_OBJECTS := $(patsubst %,$(OBJ)/tests/%.o,cuda/traffic cuda/kernel_case cuda/simulator onnx_bytes)
CUDA_TEST_OBJECTS := $(filter-out $(CUDA_PROVIDER_TEST_OBJECTS) $(CUDA_LIBRARY_TEST_OBJECTS) $(OBJ)/tests/cuda/launches.o $(OBJ)/tests/cuda/traffic.o $(OBJ)/tests/cuda/network_calls.o $(OBJ)/tests/cuda/decoding.o $(OBJ)/tests/cuda/speaker.o $(OBJ)/tests/cuda/library_files.o \
    $(OBJ)/tests/cuda/stub_library.o $(OBJ)/tests/cuda/stub_driver.o,$(patsubst %.c,$(OBJ)/%.o,$(wildcard tests/cuda/*.c tests/cases/*.c))) \
    $(OBJ)/tests/onnx_bytes.o $(OBJ)/tests/report_of.o
CUDA_TESTS := $(BUILD)/tests/cuda

$(CUDA_TESTS)/kernels: $(CUDA_TEST_OBJECTS) $(LIBRARY)
$(CUDA_TESTS)/provider: $(CUDA_PROVIDER_TEST_OBJECTS) $(LIBRARY)
$(CUDA_TESTS)/library_rows: $(CUDA_LIBRARY_TEST_OBJECTS) $(LIBRARY)
$(CUDA_TESTS)/launches: $(CUDA_LAUNCH_TEST_OBJECTS) $(LIBRARY)
$(CUDA_TESTS)/check_traffic: $(CUDA_TRAFFIC_TEST_OBJECTS) $(LIBRARY)
$(CUDA_TESTS)/kernels $(CUDA_TESTS)/provider $(CUDA_TESTS)/library_rows $(CUDA_TESTS)/launches $(CUDA_TESTS)/check_traffic:
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) -o $@ $^ $(LIBRARY_LIBS) -ldl

ifneq ($(CUDASIM_CXX),)
TESTS += test-cuda-kernels test-cuda-races test-cuda-provider test-cuda-library-files test-cuda-library-rows test-cuda-launches test-cuda-claims test-cuda-quantize test-cuda-quantized test-cuda-networks check-traffic
THOROUGH_TESTS += test-cuda-planted test-cuda-kernels-gcc test-cuda-races-all test-cuda-bounds test-cuda-coverage
# --once: one order of threads and blocks; --brief: fewer shapes too.
KERNEL_CASES ?=

# A program finds the shared object by LD_LIBRARY_PATH: one folder a mode.
CUDA_COVERAGE_FLAGS := -fprofile-instr-generate -fcoverage-mapping
$(eval $(call cudasim_mode,coverage,clang++,-O1 $(CUDA_COVERAGE_FLAGS),-DGRID_MAX_BLOCKS=7,))
CUDA_MODES := asan race gcc coverage
CUDA_MODE_LINK_asan := clang++ -shared -shared-libasan -fsanitize=address,undefined
CUDA_MODE_LINK_race := clang++ -shared
CUDA_MODE_LINK_gcc := g++ -shared -fsanitize=undefined
CUDA_MODE_LINK_coverage := clang++ -shared $(CUDA_COVERAGE_FLAGS)

define cuda_mode_library
$(CUDA_TESTS)/$(1)/libtinyort-cudasim.so: $(call cudasim_simulator,$(1)) $(call cudasim_provider,$(1)) $(LIBRARY) \
    kernels/cudasim/exports.map
	@mkdir -p $$(@D)
	@echo "  LINK  $$@"
	$$(Q)$$(CUDA_MODE_LINK_$(1)) $$(LDFLAGS) -Wl,--version-script=kernels/cudasim/exports.map -o $$@ $$(filter %.o %.a,$$^) \
	    $$(LIBRARY_LIBS)
endef
$(foreach mode,$(CUDA_MODES),$(eval $(call cuda_mode_library,$(mode))))

.PHONY: test-cuda-kernels
## Hold every CUDA kernel against the plain loops, on the simulated device: in every order of threads and blocks.
test-cuda-kernels: $(CUDA_TESTS)/kernels $(CUDASIM_LIBRARY)
	LD_LIBRARY_PATH=$(BUILD) $(CUDA_TESTS)/kernels $(KERNEL_CASES) cudasim
	LD_LIBRARY_PATH=$(BUILD) $(CUDA_TESTS)/kernels $(KERNEL_CASES) --tf32 cudasim

.PHONY: test-cuda-races test-cuda-races-all
## The same under the race checker, which also finds what is out of bounds or misaligned: each line and type in few shapes.
test-cuda-races: $(CUDA_TESTS)/kernels $(CUDA_TESTS)/race/libtinyort-cudasim.so
	LD_LIBRARY_PATH=$(CUDA_TESTS)/race $(CUDA_TESTS)/kernels --brief cudasim
## The same in all shapes and orders.
test-cuda-races-all: $(CUDA_TESTS)/kernels $(CUDA_TESTS)/race/libtinyort-cudasim.so
	LD_LIBRARY_PATH=$(CUDA_TESTS)/race $(CUDA_TESTS)/kernels cudasim
	LD_LIBRARY_PATH=$(CUDA_TESTS)/race $(CUDA_TESTS)/kernels --tf32 cudasim

.PHONY: test-cuda-kernels-gcc
## The same as g++ compiles it, with the undefined-behaviour sanitizer and one device that stays open.
test-cuda-kernels-gcc: $(CUDA_TESTS)/kernels $(CUDA_TESTS)/gcc/libtinyort-cudasim.so
	LD_LIBRARY_PATH=$(CUDA_TESTS)/gcc $(CUDA_TESTS)/kernels --brief --keep-open cudasim

.PHONY: test-cuda-planted
## Plant faults in CUDA kernels, and see that the runners of `make test` find each; ONLY='no barrier' for those so called.
test-cuda-planted: $(CUDA_TESTS)/kernels $(CUDASIM_LIBRARY) $(CUDA_TESTS)/race/libtinyort-cudasim.so
	@$(VENV)/bin/python tests/cuda/planted.py $(CUDA_TESTS) "$(MAKE)" $(LIBRARY) "$(call cudasim_simulator,race) $(call cudasim_provider,race)" \
	    "$(call cudasim_simulator,$(CUDASIM_MODE)) $(call cudasim_provider,$(CUDASIM_MODE))" $(CUDASIM_MODE) "$(ONLY)"

# The program itself has no sanitizer, so their runtime library is loaded before it.
.PHONY: test-cuda-bounds
## The same under the address and undefined-behaviour sanitizers.
test-cuda-bounds: $(CUDA_TESTS)/kernels $(CUDA_TESTS)/asan/libtinyort-cudasim.so
	LD_LIBRARY_PATH=$(CUDA_TESTS)/asan LD_PRELOAD=$$(clang++ -print-file-name=libclang_rt.asan-$(MACHINE).so) \
	    $(CUDA_TESTS)/kernels cudasim

.PHONY: test-cuda-provider
## Test the CUDA provider on the simulated device: why it does not open, each call that fails, devices, limits.
test-cuda-provider: $(CUDA_TESTS)/provider $(CUDASIM_LIBRARY)
	LD_LIBRARY_PATH=$(BUILD) $(CUDA_TESTS)/provider tests/cuda/probing.expected

# libraries.c is compiled against the simulated device's header, and has the real loader under it.
CUDA_LIBRARY_FILES_OBJECTS := $(patsubst %,$(OBJ)/cudasim/$(CUDASIM_MODE)/%.o,tests/cuda/library_files kernels/cuda/libraries kernels/cuda/machine) \
    $(OBJ)/runtime/core/base/locale.o
$(CUDA_TESTS)/library_files: $(CUDA_LIBRARY_FILES_OBJECTS)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(CUDASIM_CXX) $(SANITIZE_FLAGS) $(LDFLAGS) -o $@ $^ -ldl

.PHONY: test-cuda-library-files
## Test what is said of files that are missing, broken or too old: the driver, cuBLAS and cuDNN; and that none is unmapped.
test-cuda-library-files: $(CUDA_TESTS)/library_files $(if $(CUDA_LIBRARY),$(TINYORT))
	@sh tests/cuda/library_files.sh "$(CC)" $(CUDA_TESTS)/library_files $(if $(CUDA_LIBRARY),$(TINYORT) $(if $(filter 525,$(CUDA_DRIVER)),12000,$(if $(filter 550,$(CUDA_DRIVER)),12040,13000)) $(CUDA_DRIVER))

ifneq ($(CUDA_LIBRARY),)
TESTS += test-cuda-requires
.PHONY: test-cuda-requires
## Read from the program what it asks of the machine: code for each architecture, in a form that the oldest driver reads.
test-cuda-requires: $(TINYORT)
	@python3 tests/cuda/requires.py $(TINYORT) $(MACHINE) $(CUDA_DRIVER) "$(CUDA_ARCHS)" "$(CUDA_PTX)"
endif

.PHONY: test-cuda-library-rows
## Test Conv by cuDNN and what else libraries serve on the simulated device: shapes, threads, workspace, TF32, failing calls.
test-cuda-library-rows: $(CUDA_TESTS)/library_rows $(CUDASIM_LIBRARY)
	LD_LIBRARY_PATH=$(BUILD) $(CUDA_TESTS)/library_rows

.PHONY: test-cuda-launches
## Count what nodes, fused nodes and whole networks ask of the simulated device: launches, copies, waits, allocations.
test-cuda-launches: $(CUDA_TESTS)/launches $(CUDASIM_LIBRARY)
	$(VENV)/bin/python tests/cuda/networks.py --bert $(CUDA_TESTS)/bert.onnx
	$(VENV)/bin/python tests/cuda/networks.py --write $(CUDA_TESTS)
	LD_LIBRARY_PATH=$(BUILD) $(CUDA_TESTS)/launches $(CUDA_TESTS)/bert.onnx $(CUDA_TESTS)

.PHONY: check-traffic
## Meter the global memory that CUDA kernels touch, on the simulated device; hold it to the budgets of tests/cuda/traffic.c.
check-traffic: $(CUDA_TESTS)/check_traffic $(CUDA_TESTS)/race/libtinyort-cudasim.so
	LD_LIBRARY_PATH=$(CUDA_TESTS)/race $(CUDA_TESTS)/check_traffic $(if $(ALL),--kernels) $(ONLY)

.PHONY: test-cuda-claims
## Hold what the CUDA provider refuses, and its words, against tests/cuda/claims.expected.
test-cuda-claims: $(TINYORT) $(CUDASIM_LIBRARY)
	@$(VENV)/bin/python -W ignore tests/cuda/claims.py $(TINYORT)

.PHONY: test-cuda-quantize
## Hold QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear on the simulated device against numpy, bit for bit.
test-cuda-quantize: $(TINYORT) $(CUDASIM_LIBRARY)
	@$(VENV)/bin/python -W ignore tests/cuda/quantize.py $(TINYORT)

.PHONY: test-cuda-networks
## ResNet-50, MobileNetV2, ViT, Swin and BERT (full depth, small widths) on the simulated device alone, against cpu.
test-cuda-networks: $(TINYORT) $(CUDASIM_LIBRARY)
	@$(VENV)/bin/python tests/cuda/networks.py $(TINYORT)

.PHONY: test-cuda-quantized
## Quantized networks wholly on CUDA: what is left to the CPU on each architecture, launches, outputs against cpu and onnxruntime.
test-cuda-quantized: $(TINYORT) $(CUDASIM_LIBRARY)
	@$(VENV)/bin/python -W ignore tests/cuda/quantized.py $(TINYORT)

.PHONY: test-cuda-coverage
## Run the tests above on a provider that counts which lines run; fail for one that none of them runs.
test-cuda-coverage: $(CUDA_TESTS)/kernels $(CUDA_TESTS)/provider $(CUDA_TESTS)/library_rows $(TINYORT) $(CUDA_TESTS)/coverage/libtinyort-cudasim.so
	@$(VENV)/bin/python tests/cuda/coverage.py $(CUDA_TESTS) $(TINYORT)
endif
